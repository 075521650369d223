"""Facts about this machine and about TPUs; standard library only, travels with the probe."""

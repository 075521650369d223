"""Facts about this machine and TPUs; standard library only, because it travels with the probe."""

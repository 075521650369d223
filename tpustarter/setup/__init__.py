"""Set-up of environments and of the machine, step by step, with a proof and an undo."""

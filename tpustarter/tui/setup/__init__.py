"""The screens of set-ups, of environments and of the machine."""

"""The set-up screens, for environments and for the machine."""

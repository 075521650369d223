"""The screen of a slice: one run of the checks on all of its hosts."""

"""The plan of a self-check: the Python under test, its devices, the checks."""

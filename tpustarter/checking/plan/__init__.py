"""The plan of a self-check: the Python under test, its devices, and the checks."""

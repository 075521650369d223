"""The slice screen, which runs the checks on all hosts of a slice."""

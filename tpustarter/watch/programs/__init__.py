"""Programs that run in the Python under test."""

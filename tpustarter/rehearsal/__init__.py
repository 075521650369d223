"""Compiles programs for TPUs that are not there."""

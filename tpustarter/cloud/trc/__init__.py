"""Grants of the TPU Research Cloud."""

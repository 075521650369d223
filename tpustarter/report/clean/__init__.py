"""Removal of names and secrets from a report."""

"""Blocks of lessons, run inside the Python under test."""

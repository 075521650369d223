"""Differences between two reports."""

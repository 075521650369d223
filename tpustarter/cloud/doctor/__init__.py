"""Diagnosis of a project: obstacles between it and its first TPU."""

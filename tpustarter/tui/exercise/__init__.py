"""Exercises: the list, the task, the editor and the verdict."""

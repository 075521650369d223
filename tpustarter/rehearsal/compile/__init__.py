"""Processes that lower and compile, and the cache of their answers."""

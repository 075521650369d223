"""Arithmetic on a model's `config.json`: its parameters, and what it needs on each TPU."""

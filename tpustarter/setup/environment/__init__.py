"""Environments with a framework: their steps, run and proof."""

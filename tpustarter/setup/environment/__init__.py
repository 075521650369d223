"""Environments with a framework: their steps, their set-up and their proof."""

"""Plots and array layouts, drawn with characters."""

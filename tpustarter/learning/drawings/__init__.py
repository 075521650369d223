"""Plots and arrays over devices, drawn with characters."""

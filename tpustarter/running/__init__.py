"""Supervised processes: their start, events and end, and the holder of the device."""

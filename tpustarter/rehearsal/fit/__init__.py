"""The search for the largest size of a dimension that still fits into the memory of a TPU."""

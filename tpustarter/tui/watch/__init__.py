"""The live view of the TPU."""

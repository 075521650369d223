"""Lowering and compiling for absent TPUs, in the Python under test."""

"""Lowering and compiling for absent TPUs, inside the Python under test."""

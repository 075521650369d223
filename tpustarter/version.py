"""The version of this program: hatch reads it here when it builds the wheel."""

__version__ = "0.2.0"

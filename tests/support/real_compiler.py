"""The Python with the real TPU compiler, for tests that need one."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

FULL_EFFORT = "UNKNOWN"
"""The level of JAX at which a user's program is compiled, unless the user names another."""
LESS_EFFORT = FULL_EFFORT if os.environ.get("TPUSTARTER_GATE") == "whole" else "O1"
"""The level for tests that ask whether a program compiles, or how many products it has.

It takes a third of the time, because the compiler tries fewer ways to cut the operands of a product
and to keep arrays on the chip. The checks are compiled with full effort for a v5e-8.
"""


def python_with_libtpu() -> str:
    """Return an interpreter that has JAX and libtpu, or skip the test."""
    if named := os.environ.get("TPUSTARTER_LIBTPU_PYTHON"):
        return named
    if importlib.util.find_spec("libtpu") is None:
        pytest.skip(
            "The TPU compiler is not installed here: `pip install libtpu`, or set"
            " TPUSTARTER_LIBTPU_PYTHON to a Python that has jax and libtpu."
        )
    if any(Path("/dev").glob("accel*")) or any(Path("/dev").glob("vfio/[0-9]*")):
        pytest.skip("This machine may have TPU chips in use, and rehearsing there was never tried.")
    return sys.executable

"""The Python with the real TPU compiler, for tests that need one."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest


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

"""The exact commands that install something here, from tools that are here."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

NEWEST = {(3, 10): "0.6.2", (3, 11): "0.10.2"}
"""Newest JAX of a Python that the newest JAX no longer supports.
Source: package index, and docs.jax.dev/en/latest/changelog.html (read 2026-11)."""

MINIMUM = (3, 12)
"""Oldest Python the newest JAX supports: 0.11.0 dropped 3.11."""

SET_UP = "tpustarter setup jax"
"""Makes an environment with a Python that is new enough, and the newest JAX."""


def into_this_python(*packages: str) -> str:
    """Return the command that installs packages into the running Python, without changing others.

    An environment made by uv may have no pip of its own. Where a system's Python refuses packages,
    an environment of its own is the way.
    """
    python = shlex.quote(sys.executable)
    managed = Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    if sys.prefix == sys.base_prefix and managed.exists():
        return SET_UP
    if importlib.util.find_spec("pip") is None and shutil.which("uv"):
        return f"uv pip install --python {python} {shlex.join(packages)}"
    return f"{python} -m pip install {shlex.join(packages)}"

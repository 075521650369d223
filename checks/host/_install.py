"""The exact commands that install something here, from tools that are here."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

from tpustarter import host

NEWEST = {(3, 10): "0.6.2", (3, 11): "0.10.2"}
"""Newest JAX of a Python that the newest JAX no longer supports.
Source: package index, and docs.jax.dev/en/latest/changelog.html (read 2026-11)."""

MINIMUM = (3, 12)
"""Oldest Python the newest JAX supports: 0.11.0 dropped 3.11."""

CANDIDATES = ("python3.12", "python3.13")
FOLDER = "~/tpu"


def jax_wheel(machine: host.Machine) -> str:
    """Return what to install for JAX on this machine, quoted for a shell."""
    return "'jax[tpu]'" if host.platform_hint(machine) == "tpu" else "jax"


def environment_hint(machine: host.Machine) -> str:
    """Return how to make an environment with the newest JAX from what is installed here."""
    wheel, path = jax_wheel(machine), machine.env.get("PATH")
    install = f"{FOLDER}/bin/python -m pip install {wheel}"
    for python in CANDIDATES:
        if shutil.which(python, path=path):
            return f"run `{python} -m venv {FOLDER} && {install}`"
    if shutil.which("uv", path=path):
        install = f"uv pip install --python {FOLDER}/bin/python {wheel}"
        return f"run `uv venv --python 3.12 {FOLDER} && {install}`"
    return f"install Python 3.12 or newer, then run `python3.12 -m venv {FOLDER} && {install}`"


def into_this_python(*packages: str) -> str:
    """Return the command that installs packages into the running Python, without changing others.

    An environment made by uv has no pip of its own, and a system's Python may refuse packages.
    """
    python = shlex.quote(sys.executable)
    managed = Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    if sys.prefix == sys.base_prefix and managed.exists():
        install = f"{FOLDER}/bin/python -m pip install {shlex.join(packages)}"
        return f"{python} -m venv {FOLDER} && {install}"
    if importlib.util.find_spec("pip") is None and shutil.which("uv"):
        return f"uv pip install --python {python} {shlex.join(packages)}"
    return f"{python} -m pip install {shlex.join(packages)}"

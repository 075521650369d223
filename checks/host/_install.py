"""The exact commands that install packages on this machine, with the tools that it has."""

from __future__ import annotations

import os
import shlex
import sys
import sysconfig
from pathlib import Path

from tpustarter.machine import pip_command
from tpustarter.machine.notebook_services import find_notebook_service
from tpustarter.probe.finding import Hint

NEWEST = {(3, 10): "0.6.2", (3, 11): "0.10.2"}
"""Newest JAX of a Python that the newest JAX no longer supports.
Source: package index, and docs.jax.dev/en/latest/changelog.html (read 2026-11)."""

MINIMUM = (3, 12)
"""Oldest Python the newest JAX supports: 0.11.0 dropped 3.11."""

SET_UP = "jax"
"""The profile of an environment with a Python that is new enough, and the newest JAX."""


def into_this_python(*packages: str) -> Hint:
    """Return advice to install packages into the running Python, without changing others.

    If a system's Python refuses packages, the advice is to set up an environment. In a notebook
    of Colab or Kaggle it says that the command changes what the service installed.
    """
    python = shlex.quote(sys.executable)
    managed = Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    is_system = sys.prefix == sys.base_prefix
    if is_system and managed.exists():
        return Hint.set_up(SET_UP)
    service = find_notebook_service(os.environ) if is_system else None
    return Hint.run(
        pip_command.format_pip_command(f"{python} -m pip install {shlex.join(packages)}"),
        f", which changes what {service.name} preinstalled, until the session ends"
        if service
        else "",
    )

"""Disk space suffices for packages and logs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from tpustarter.machine import host
from tpustarter.probe.finding import Finding
from tpustarter.probe.target import target

FRAMEWORK = "host"
LEVEL = "static"
NEEDS = {}
TIMEOUT_S = 20
ESTIMATE_S = 0.1
LESSON = "setup/data-and-storage"
SOURCE = "https://github.com/skypilot-org/skypilot/issues/2778"

TEMPORARY = "/tmp"  # noqa: S108 -- looked at, nothing is written there

LOW_GIB = 10.0
"""A TPU VM's boot disk is 100 GB (10 GB on Compute Engine): jax[tpu] takes about 1 GiB of it."""


def run(
    machine: host.Machine | None = None,
    usage: Callable[[Path], tuple[int, int, int]] = shutil.disk_usage,
):
    """Measure free space where packages, logs and compiled programs go."""
    machine = machine or host.Machine(root=target().root, uid=target().uid)
    counted: set[int] = set()
    for name, folder in _folders(machine):
        path = _existing(machine, folder)
        try:
            device = path.stat().st_dev
            free = usage(path)[2] / 2**30
        except OSError:
            yield Finding("HOST-SPACE-DISK", f"free disk space for {name}", found="unknown")
            continue
        if device in counted:
            continue
        counted.add(device)
        low = free < LOW_GIB
        yield Finding(
            code="HOST-SPACE-DISK",
            name=f"free disk space for {name}",
            verdict="warn" if low else "ok",
            found=round(free, 1),
            expected=f"{LOW_GIB:g} or more",
            unit="GiB",
            hint="`du -xh --max-depth=2 ~ | sort -h | tail` shows what uses the space"
            if low
            else None,
        )
    shm_gib = host.shm_gib(machine)
    yield Finding(
        code="HOST-SPACE-SHM",
        name="shared memory, /dev/shm",
        found="unknown" if shm_gib is None else round(shm_gib, 2),
        unit=None if shm_gib is None else "GiB",
    )


def _existing(machine: host.Machine, folder: str) -> Path:
    """Return the folder, or the nearest one above it that this user can find."""
    while machine.status(folder) is None and folder.strip("/"):
        folder = folder.rpartition("/")[0]
    return machine.path(folder)


def _folders(machine: host.Machine) -> list[tuple[str, str]]:
    """Return what needs room and where it lies; what shares a disk is told once."""
    home = machine.env.get("HOME") or "/root"
    states = machine.env.get("XDG_STATE_HOME") or f"{home}/.local/state"
    own = machine.env.get("TPUSTARTER_HOME") or f"{states}/tpustarter"
    return [("packages in your home", home), (TEMPORARY, TEMPORARY), ("tpustarter's files", own)]

"""Disk space suffices for packages and logs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from tpustarter.machine import host
from tpustarter.probe.finding import Finding, Hint, NoAnswer
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
    counted, unknown, is_low = set[int](), list[str](), False
    for name, folder in _folders(machine):
        path = _existing(machine, folder)
        try:
            device = path.stat().st_dev
            free = usage(path)[2] / 2**30
        except OSError:
            yield Finding("HOST-SPACE-DISK", f"free disk space for {name}", found="unknown")
            unknown.append(name)
            continue
        if device in counted:
            continue
        counted.add(device)
        low = free < LOW_GIB
        is_low |= low
        yield Finding(
            code="HOST-SPACE-DISK",
            name=f"free disk space for {name}",
            verdict="warn" if low else "ok",
            found=round(free, 1),
            expected=f"{LOW_GIB:g} or more",
            unit="GiB",
            hint=Hint.see("du -xh --max-depth=2 ~ | sort -h | tail", "shows what uses the space")
            if low
            else None,
        )
    shm_gib = host.shared_memory_gib(machine)
    yield Finding(
        code="HOST-SPACE-SHM",
        name="shared memory, /dev/shm",
        found="unknown" if shm_gib is None else round(shm_gib, 2),
        unit=None if shm_gib is None else "GiB",
    )
    if unknown and not is_low:
        raise NoAnswer(f"the disk does not tell its free space for {unknown[0]}")


def _existing(machine: host.Machine, folder: str) -> Path:
    while machine.read_status(folder) is None and folder.strip("/"):
        folder = folder.rpartition("/")[0]
    return machine.path(folder)


def _folders(machine: host.Machine) -> list[tuple[str, str]]:
    home = machine.env.get("HOME") or "/root"
    states = machine.env.get("XDG_STATE_HOME") or f"{home}/.local/state"
    own = machine.env.get("TPUSTARTER_HOME") or f"{states}/tpustarter"
    return [("packages in your home", home), (TEMPORARY, TEMPORARY), ("tpustarter's files", own)]

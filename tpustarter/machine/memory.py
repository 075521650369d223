"""The memory that a process can still take: from the machine, and from its containers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from tpustarter.machine.machine import Machine

_GROUPS = {
    # The controller's name in /proc/self/cgroup: its folder, the files with limit and usage, and
    # the entry in memory.stat for memory that the kernel can reclaim.
    "": ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    "memory": (
        "/sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
}
"""Source: kernel.org/doc/html/latest/admin-guide/cgroup-v2.html and cgroup-v1/memory.html."""


def available_memory_bytes(machine: Machine) -> int | None:
    """Return the bytes that can be taken without swapping, or None if unknown."""
    match = re.search(r"^MemAvailable:\s+(\d+) kB", machine.read_text("/proc/meminfo") or "", re.M)
    amounts = [int(match[1]) * 1024] if match else []
    for name, path in _groups(machine):
        amounts += _left(machine, name, path)
    return max(0, min(amounts)) if amounts else None


def container_memory_limit_bytes(machine: Machine) -> int | None:
    """Return the smallest memory limit, in bytes, set by a container, or None if there is none."""
    limits: list[int] = []
    for name, path in _groups(machine):
        folder, file, *_ = _GROUPS[name]
        for group in (path, *path.parents):
            text = (machine.read_text(f"{f'{folder}{group}'.rstrip('/')}/{file}") or "").strip()
            # Version 1 of control groups represents no limit by a very large number.
            limits += [int(text)] if text.isdigit() and int(text) < 1 << 60 else []
    return min(limits, default=None)


def count_oom_kills(machine: Machine) -> int | None:
    """Return the number of processes killed by the kernel's OOM killer since boot, or None."""
    match = re.search(r"^oom_kill (\d+)$", machine.read_text("/proc/vmstat") or "", re.M)
    return int(match[1]) if match else None


def count_oom_kills_by_file(machine: Machine) -> dict[str, int]:
    """Return how many processes the OOM killer has ended, keyed by the file that counts them.

    This process's control group comes first. Its count is for this container, while the machine may
    run
    others.
    """
    counts: dict[str, int] = {}
    for name, path in _groups(machine):
        file = "memory.oom_control" if name else "memory.events"
        place = f"{f'{_GROUPS[name][0]}{path}'.rstrip('/')}/{file}"
        if match := re.search(r"^oom_kill (\d+)$", machine.read_text(place) or "", re.M):
            counts[place] = int(match[1])
    total = count_oom_kills(machine)
    return counts if total is None else {**counts, "/proc/vmstat": total}


def _groups(machine: Machine) -> Iterator[tuple[str, PurePosixPath]]:
    for line in (machine.read_text("/proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if path.startswith("/"):
            yield from ((name, PurePosixPath(path)) for name in names.split(",") if name in _GROUPS)


def _left(machine: Machine, name: str, path: PurePosixPath) -> list[int]:
    # A container sees only the last part of a process's control group path.
    folder, limit_file, used_file, reclaimable = _GROUPS[name]
    amounts: list[int] = []
    for group in (path, *path.parents):
        place = f"{folder}{group}".rstrip("/")
        limit = (machine.read_text(f"{place}/{limit_file}") or "").strip()
        used = (machine.read_text(f"{place}/{used_file}") or "").strip()
        if limit.isdigit() and used.isdigit():
            stat = machine.read_text(f"{place}/memory.stat") or ""
            match = re.search(rf"^{reclaimable} (\d+)$", stat, re.M)
            amounts.append(int(limit) - int(used) + (int(match[1]) if match else 0))
    return amounts

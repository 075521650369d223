"""Enforcement of the memory limit: the memory that a run's processes hold, and which group ends.

A limit on the address space (`RLIMIT_AS`) would not work, because libtpu reserves far more than it
uses. So the supervisor samples resident memory. File-backed pages are left out, because the kernel
reclaims them when memory is short.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tpustarter.probe.events import MemoryExcess

LIMIT = "TPUSTARTER_MEMORY_LIMIT_BYTES"
"""Environment variable with the limit in bytes for all of a run's processes; unset for no limit."""
TICK_S = 0.2


def read_limit_bytes() -> int | None:
    """Return this run's limit in bytes, or None if it is unset or memory can't be measured."""
    text = os.environ.get(LIMIT, "")
    return int(text) if text.isdigit() and os.path.exists("/proc/self/status") else None  # noqa: PTH110


def measure_memory_excess(child: int, limit: int) -> MemoryExcess | None:
    """Return the child's resident memory and the limit, in bytes, or None if it may go on.

    All processes of the run count: the groups of this supervisor and of its siblings. Only the
    largest group ends; the others are measured again once it has freed its memory.
    """
    groups = _group_sizes()
    own = groups.get(child, 0)
    if sum(groups.values()) <= limit or own < max(groups.values(), default=0):
        return None
    return {"resident_bytes": own, "limit_bytes": limit}


def _group_sizes() -> dict[int, int]:
    run = os.getppid()
    processes = list(_descendants(run) if _lists_children() else _all_processes())
    supervisors = {pid for pid, parent, _ in processes if parent == run} | {os.getpid()}
    groups = {group: 0 for _, parent, group in processes if parent in supervisors}
    groups.pop(os.getpgrp(), None)
    for pid, _, group in processes:
        if group in groups:
            groups[group] += _resident_bytes(pid)
    return groups


def _lists_children() -> bool:
    own = os.getpid()
    return os.path.exists(f"/proc/{own}/task/{own}/children")  # noqa: PTH110


def _descendants(pid: int) -> Iterator[tuple[int, int, int]]:
    # A machine may have thousands of processes, and this runs five times a second.
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208  no pathlib in the supervisor
    except OSError:  # it has ended
        return
    for thread in threads:
        for child in _read(f"/proc/{pid}/task/{thread}/children").split():
            if fields := _read_stat(child.decode()):
                yield fields
                yield from _descendants(fields[0])


def _all_processes() -> Iterator[tuple[int, int, int]]:
    # For kernels without `/proc/PID/task/TID/children`.
    for name in os.listdir("/proc"):  # noqa: PTH208  no pathlib in the supervisor
        if name.isdigit() and (fields := _read_stat(name)):
            yield fields


def _read_stat(pid: str) -> tuple[int, int, int] | None:
    # PID, parent and group. The name in parentheses may itself contain spaces and parentheses.
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return (int(pid), int(fields[1]), int(fields[2])) if len(fields) > 2 else None


def _resident_bytes(pid: int) -> int:
    # Without file-backed pages; an old kernel reports only the sum.
    values: dict[bytes, int] = {}
    for line in _read(f"/proc/{pid}/status").splitlines():
        name, _, value = line.partition(b":")
        if name in (b"VmRSS", b"RssAnon", b"RssShmem"):
            values[name] = int(value.split()[0]) * 1024
    if b"RssAnon" in values:
        return values[b"RssAnon"] + values.get(b"RssShmem", 0)
    return values.get(b"VmRSS", 0)


def _read(path: str) -> bytes:
    # The process may have ended.
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""

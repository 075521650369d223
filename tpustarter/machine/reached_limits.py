"""Limits that a process has reached: threads and processes, open files, memory.

This module travels with the probe, so it uses only the standard library.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import traceback
from typing import NamedTuple

from tpustarter.machine.machine import Machine, parse_number

FORKING = ("_execute_child", "_start_child", "_fork_exec")
"""Functions in which EAGAIN means that no process can be created; elsewhere it concerns a pipe."""
_TEXTS = {
    "processes": r"can't start new thread|cannot join thread before it is started"
    r"|unable to start watchdog thread|pthread_create.*failed"
    r"|BlockingIOError: \[Errno 11\]|fork: retry|Thread creation failed",
    "files": r"Too many open files",
    "memory": r"MemoryError|Cannot allocate memory|std::bad_alloc",
}


class ReachedLimit(NamedTuple):
    """A limit of this machine or user that a process has reached, with advice."""

    what: str
    hint: str


def find_limit(error: BaseException | None, machine: Machine | None = None) -> ReachedLimit | None:
    """Return the limit behind an error or one of its causes, or None for any other error."""
    machine = machine or Machine()
    while error is not None:
        if kind := _kind(error):
            return describe_limit(kind, machine)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return None


def find_limit_in_text(text: str, machine: Machine | None = None) -> ReachedLimit | None:
    """Return the limit that a process reached, judged by its output, or None for other output."""
    kind = next((kind for kind, pattern in _TEXTS.items() if re.search(pattern, text)), None)
    return describe_limit(kind, machine or Machine()) if kind else None


def describe_limit(kind: str, machine: Machine) -> ReachedLimit:
    """Return the limit of a kind: `processes`, `files`, `all files` or `memory`."""
    if kind == "files":
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        what = f"a process may open no more than {most} files here (`ulimit -n`), too few for this"
        return ReachedLimit(what, "`ulimit -n 1024`, then run this again")
    if kind == "all files":
        most = machine.read_text("/proc/sys/fs/file-max") or "its"
        what = f"this machine has reached the limit of {most} open files (fs.file-max)"
        return ReachedLimit(what, "end programs that keep many open: `lsof | wc -l` counts them")
    return _memory(machine) if kind == "memory" else _processes(machine)


def _kind(error: BaseException) -> str | None:
    if isinstance(error, MemoryError):
        return "memory"
    if isinstance(error, RuntimeError):
        return "processes" if re.search(_TEXTS["processes"], str(error)) else None
    if not isinstance(error, OSError):
        return None
    if error.errno == errno.EAGAIN:
        frames = traceback.extract_tb(error.__traceback__)
        return "processes" if frames and frames[-1].name in FORKING else None
    kinds = {errno.EMFILE: "files", errno.ENFILE: "all files", errno.ENOMEM: "memory"}
    return kinds.get(error.errno or 0)


def _processes(machine: Machine) -> ReachedLimit:
    # The limit reached is either the control group's or the user's.
    most, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    running = _threads_of(machine, os.getuid())
    group = _control_group(machine)
    what = "this machine allows no more processes and threads"
    if group and (most < 0 or group[0] <= most):
        what += f": its control group has {group[1]} of {group[0]} (pids.max)"
        hint = "raise it, in Docker with `--pids-limit`, in Kubernetes with the node's podPidsLimit"
        return ReachedLimit(what, f"{hint}; or end what runs there")
    if most >= 0:
        what += f": this user may have {most} (`ulimit -u`), and has {running} now"
    return ReachedLimit(what, "end some of them (`ps -Lfu $USER` lists them), or raise `ulimit -u`")


def _threads_of(machine: Machine, uid: int) -> int:
    # The limit counts threads.
    total = 0
    for pid in filter(str.isdecimal, machine.list_names("/proc")):
        status = machine.read_text(f"/proc/{pid}/status") or ""
        owner = re.search(r"^Uid:\s+(\d+)", status, re.MULTILINE)
        threads = re.search(r"^Threads:\s+(\d+)", status, re.MULTILINE)
        if owner and threads and int(owner[1]) == uid:
            total += int(threads[1])
    return total


def _control_group(machine: Machine) -> tuple[int, int] | None:
    # Groups are nested; the one with the least room left applies.
    lines = (machine.read_text("/proc/self/cgroup") or "").splitlines()
    paths = {"0": "/sys/fs/cgroup", "pids": "/sys/fs/cgroup/pids"}
    limits: list[tuple[int, int]] = []
    for line in lines:
        hierarchy, controllers, path = [*line.split(":", 2), "", ""][:3]
        base = paths.get("pids" if "pids" in controllers.split(",") else hierarchy)
        while base:
            folder = f"{base}{path}".rstrip("/")
            most = parse_number(machine.read_text(f"{folder}/pids.max"))
            if most is not None:
                limits.append(
                    (most, parse_number(machine.read_text(f"{folder}/pids.current")) or 0)
                )
            if path in ("", "/"):
                break
            path = path.rpartition("/")[0]
    return min(limits, key=lambda limit: limit[0] - limit[1]) if limits else None


def _memory(machine: Machine) -> ReachedLimit:
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    text = machine.read_text("/proc/meminfo") or ""
    free = re.search(r"^MemAvailable:\s+(\d+)", text, re.MULTILINE)
    what = "there is not enough memory for this"
    if most >= 0:
        what += f": a process may have {most / 2**20:.0f} MiB of addresses (`ulimit -v`)"
    elif free:
        what += f": {int(free[1]) / 1024:.0f} MiB are available on this machine"
    hint = "raise `ulimit -v`" if most >= 0 else "end programs that use much: `free -h` shows it"
    return ReachedLimit(what, f"{hint}, then run this again")

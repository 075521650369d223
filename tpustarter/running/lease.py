"""One lease: at most one process of ours on this machine may own an accelerator.

The lock is held by an open file that the supervisor inherits, so it lasts until the last process
of the run is gone, however the run ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

from tpustarter import locations
from tpustarter.machine import host
from tpustarter.problem import ExitCode, Problem


@contextlib.contextmanager
def device(what: str, machine: host.Machine) -> Generator[int]:
    """Hold the lease as `hold` does, and leave no file of libtpu's that others could not open."""
    accelerator = "GPU" if host.nvidia(machine) and not host.chips(machine) else "TPU"
    with hold(what, accelerator) as descriptor, _own_lock_file(machine):
        yield descriptor


@contextlib.contextmanager
def hold(what: str, accelerator: str = "TPU") -> Generator[int]:
    """Hold the lease of the `accelerator` for `what`; yields the descriptor that keeps it.

    Raises:
        Problem: something else of ours holds it; says what, its process id and since when.
    """
    path = locations.state() / "lease.json"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise Problem(
            f"cannot open `{path}`: {error.strerror}",
            hint="remove it, or set TPUSTARTER_HOME to a folder of your own",
        ) from error
    locations.give_to_caller(path)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _busy(path, accelerator) from None
        note = {"what": what, "pid": os.getpid(), "since": time.time()}
        with contextlib.suppress(OSError):  # the lock counts; a full disk loses the note alone
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(note).encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _busy(path: Path, accelerator: str) -> Problem:
    holder = "another tpustarter"
    with contextlib.suppress(OSError, ValueError):
        note: Any = json.loads(path.read_text(encoding="utf-8"))
        age_s = max(0, int(time.time() - note["since"]))
        holder = f"{note['what']}, pid {note['pid']}, since {age_s} s"
    return Problem(
        f"the {accelerator} is held by {holder}",
        hint="wait until that ends, or stop it where it runs",
        code=ExitCode.BUSY,
    )


@contextlib.contextmanager
def _own_lock_file(machine: host.Machine) -> Generator[None]:
    """Remove libtpu's lock file afterwards if root's run made it: others could not open it."""
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0 and locations.caller() is None
    was_absent = host.lock(machine).state == "absent"
    try:
        yield
    finally:
        path = machine.path(host.LOCK_FILE)
        with contextlib.suppress(OSError):
            ours = as_root and was_absent and path.lstat().st_uid == 0
            if ours and host.lock(machine).state == "stale":
                path.unlink()

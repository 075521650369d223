"""The lease: at most one process of this program per machine may own an accelerator.

The lock belongs to an open file that the supervisor inherits. It therefore lasts until the last
process of the run is gone, however the run ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Generator
from pathlib import Path

import msgspec

from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import host
from tpustarter.running.device_holder import DeviceHolder
from tpustarter.text import phrases

FILE = "lease.json"
VARIABLE = "TPUSTARTER_LEASE"
"""Environment variable with the path of that file, for a process whose state folder is a copy."""


@contextlib.contextmanager
def hold_device_lease(name: str, machine: host.Machine) -> Generator[int]:
    """Hold the lease as `hold_lease` does; leave no libtpu lock file that others cannot open."""
    accelerator = "GPU" if host.has_nvidia_gpu(machine) and not host.list_chips(machine) else "TPU"
    with hold_lease(name, accelerator) as descriptor, _own_lock_file(machine):
        yield descriptor


@contextlib.contextmanager
def hold_lease(name: str, accelerator: str = "TPU") -> Generator[int]:
    """Hold the lease of an accelerator, yielding the descriptor that keeps it.

    Args:
        name: The holder's name, as in `DeviceHolder`.
        accelerator: `TPU` or `GPU`.

    Raises:
        Problem: Another process of this program holds it; the error has its name, pid and duration.
    """
    given = os.environ.get(VARIABLE)
    folder = locations.make_folder(Path(given).parent) if given else locations.make_state_folder()
    path = folder / FILE
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise Problem(
            f"cannot open `{path}`: {error.strerror}",
            hint="remove it, or set TPUSTARTER_HOME to a folder of your own",
        ) from error
    locations.chown_to_caller(path)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _busy(path, accelerator) from None
        except OSError as error:
            raise locations.make_lock_problem(path, error) from error
        note = _Note(name, os.getpid(), time.time())
        with contextlib.suppress(OSError):  # the lock counts; a full disk loses only the note
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, msgspec.json.encode(note), 0)
        yield descriptor
    finally:
        os.close(descriptor)


class _Note(msgspec.Struct):
    # The content of the lock file: the accelerator's holder, and since when.
    what: str
    pid: int
    since: float


def _busy(path: Path, accelerator: str) -> Problem:
    who = "another tpustarter"
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError, OverflowError):
        note = msgspec.json.decode(locations.read_text(path), type=_Note)
        age_s = max(0, int(time.time() - note.since))
        holder = DeviceHolder(note.what, note.pid, accelerator)
        who = f"{holder.identity}, for {phrases.format_duration(age_s)}"
    return Problem(
        f"the {accelerator} is held by {who}",
        hint="wait until that ends, or stop it where it runs",
        code=ExitCode.BUSY,
    )


@contextlib.contextmanager
def _own_lock_file(machine: host.Machine) -> Generator[None]:
    # A libtpu lock file created by root would keep other users from opening it.
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0 and locations.find_sudo_caller() is None
    was_absent = host.read_libtpu_lock(machine).state == "absent"
    try:
        yield
    finally:
        path = machine.path(host.LOCK_FILE)
        with contextlib.suppress(OSError):
            ours = as_root and was_absent and path.lstat().st_uid == 0
            if ours and host.read_libtpu_lock(machine).state == "stale":
                path.unlink()

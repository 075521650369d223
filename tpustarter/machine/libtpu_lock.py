"""libtpu's lock files: the process that holds one, and whether libtpu could take it.

Reading them changes nothing. The lock is never taken, because the user's own program could not
start while a test holds it. The behaviour of libtpu was observed with libtpu 0.0.50.1 on a faked
TPU VM (2026-11). It opens its file with O_RDWR, O_CREAT and O_NOFOLLOW, takes a POSIX lock, ignores
flock(2), and accepts a leftover file. If it cannot open the file, it always reports that the TPU is
in use.
"""

from __future__ import annotations

import os
import stat
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tpustarter.machine.machine import Machine, parse_number

LOCK_FILE = "/tmp/libtpu_lockfile"  # noqa: S108 -- libtpu ignores TMPDIR
_FOLDER = os.path.dirname(LOCK_FILE)  # noqa: PTH120 -- a path on that machine
_USER_FOLDER = "libtpu_lock_"

State = Literal["absent", "stale", "live", "foreign", "unusable"]


@dataclass(frozen=True)
class LibtpuLock:
    """The state of libtpu's lock, read without touching it."""

    state: State
    """`stale`: no process holds it, which is harmless. `live`: a process holds it. `foreign`: no
    process is seen to hold it, but it belongs to another user, so libtpu, run by this user, cannot
    open it. `unusable`: libtpu cannot open or create it as any user, see `why`. For the last two,
    libtpu reports that the TPU is in use.
    """
    owner: str | None = None
    pid: int | None = None
    """The process that holds it, if the kernel shows it."""
    path: str = LOCK_FILE
    why: Literal["folder", "socket", "link", "read-only", "no folder"] | None = None
    """The obstacle if it is `unusable`."""


def read_libtpu_lock(machine: Machine) -> LibtpuLock:
    """Return the state of libtpu's lock, from /proc/locks and F_GETLK.

    A held lock counts in any of its locations. Whether libtpu could take one is judged by the file
    that every libtpu tries first.
    """
    for path in _lock_files(machine):
        status = machine.read_status(path)
        pid = status and (_in_proc_locks(machine, status) or _by_getlk(machine, path))
        if status and pid:
            return LibtpuLock(
                "live", machine.user_name(status.st_uid), pid if pid > 0 else None, path
            )
    return _unheld(machine)


def _lock_files(machine: Machine) -> Iterator[str]:
    # If the first file cannot be opened, XLA newer than libtpu 0.0.52 tries one in a folder of the
    # user, then one in the home folder. Source: github.com/openxla/xla
    # xla/stream_executor/tpu/tpu_initialize_util.cc, OpenTpuLockFile (read 2026-11).
    yield LOCK_FILE
    for name in machine.list_names(_FOLDER):
        if name.startswith(_USER_FOLDER):
            yield f"{_FOLDER}/{name}/libtpu_lockfile"
    if home := machine.env.get("HOME"):
        yield f"{home}/.libtpu_lockfile"


def _unheld(machine: Machine) -> LibtpuLock:
    if machine.read_link(LOCK_FILE) is not None:  # even if it is dangling
        return LibtpuLock("unusable", why="link")
    status, folder = machine.read_status(LOCK_FILE), machine.read_status(_FOLDER)
    if status is None:
        if folder is None:
            return LibtpuLock("unusable", why="no folder")
        return (
            LibtpuLock("absent")
            if machine.has_access(_FOLDER, os.W_OK)
            else LibtpuLock("unusable", why="read-only")
        )
    owner = machine.user_name(status.st_uid)
    if stat.S_ISDIR(status.st_mode):
        return LibtpuLock("unusable", owner, why="folder")
    if stat.S_ISSOCK(status.st_mode):
        return LibtpuLock("unusable", owner, why="socket")
    if _can_reopen(machine, status, folder):
        return LibtpuLock("stale", owner)
    uid = os.geteuid() if machine.uid is None else machine.uid
    if uid in (0, status.st_uid) and not machine.has_access(_FOLDER, os.W_OK):
        return LibtpuLock("unusable", owner, why="read-only")
    return LibtpuLock("foreign", owner)


def _in_proc_locks(machine: Machine, status: os.stat_result) -> int:
    # A pid, -1 if the kernel hides it, 0 for none. Example of a line: `1: POSIX  ADVISORY  WRITE
    # 4242 08:01:1234 0 EOF`. Locks of flock(2) have FLOCK instead of POSIX.
    file_id = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    for line in (machine.read_text("/proc/locks", 1 << 20) or "").splitlines():
        fields = line.split()
        if len(fields) > 5 and fields[1] in ("POSIX", "OFDLCK") and fields[5] == file_id:
            return max(parse_number(fields[4]) or -1, -1)
    return 0


def _by_getlk(machine: Machine, name: str) -> int:
    # A pid, -1 or 0 as above. F_GETLK also sees locks of other process namespaces and of overlay
    # file systems, which /proc/locks hides or names differently.
    if sys.platform != "linux":
        return 0
    path = str(machine.path(name))
    # Closing a file drops all of a process's locks on it, so this must not open a file that this
    # process already has open.
    local = Machine(env={})
    if any(
        local.read_link(f"/proc/self/fd/{fd}") == path for fd in local.list_names("/proc/self/fd")
    ):
        return os.getpid()
    import fcntl

    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return 0
    try:
        request = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = struct.unpack("hhqqi", fcntl.fcntl(fd, fcntl.F_GETLK, request))
    except OSError:
        return 0
    finally:
        os.close(fd)
    return 0 if kind == fcntl.F_UNLCK else max(pid or -1, -1)


def _can_reopen(machine: Machine, status: os.stat_result, folder: os.stat_result | None) -> bool:
    # libtpu opens it with O_RDWR|O_CREAT, as seen in libtpu 0.0.50.1. Linux may refuse that even to
    # root, for another user's file in a sticky folder such as /tmp. Source:
    # docs.kernel.org/admin-guide/sysctl/fs.html, protected_regular (read 2026-11).
    uid = os.geteuid() if machine.uid is None else machine.uid
    guarded = (parse_number(machine.read_text("/proc/sys/fs/protected_regular")) or 0) > 0
    shared = stat.S_ISVTX | stat.S_IWOTH
    if guarded and folder and folder.st_mode & shared == shared:
        usable = status.st_uid in (uid, folder.st_uid)
        return usable and machine.has_access(LOCK_FILE, os.R_OK | os.W_OK)
    return machine.has_access(LOCK_FILE, os.R_OK | os.W_OK)

"""Who uses the TPU: processes that have a node open, and libtpu's lock file.

Looking changes nothing: no node is opened and the lock is never taken, for while a test holds it
the user's own program cannot start. Other processes' environments are never read.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tpustarter.machine.machine import Machine, number, plain

LOCK_FILE = "/tmp/libtpu_lockfile"  # noqa: S108 -- where libtpu puts it, whatever TMPDIR says
NODE = re.compile(r"/dev/(accel|vfio/)\d+")
"""Source: tpu_info/device.py 0.14.2, get_chip_owners (read 2026-11)."""


@dataclass(frozen=True)
class Holder:
    """A process that has a TPU node open."""

    pid: int
    parent: int | None
    user: str
    command: str
    age_s: float | None
    """Seconds since it started."""
    zombie: bool
    """Its first thread has ended, and another one still keeps the node open."""
    nodes: tuple[str, ...]


def holders(machine: Machine) -> list[Holder]:
    """Return the processes that have a TPU node open, as far as this user may see them."""
    found: list[Holder] = []
    for pid in filter(str.isdecimal, machine.names("/proc")):
        held = _open_nodes(machine, pid)
        if held and (holder := process(machine, int(pid), held)):
            found.append(holder)
    return sorted(found, key=lambda holder: holder.pid)


def _open_nodes(machine: Machine, pid: str) -> set[str]:
    """Return the TPU nodes a process has open, threads that outlived their leader included."""
    folders = [f"/proc/{pid}/fd"]
    if not machine.names(folders[0]):
        folders += [f"/proc/{pid}/task/{task}/fd" for task in machine.names(f"/proc/{pid}/task")]
    links = (machine.link(f"{folder}/{fd}") for folder in folders for fd in machine.names(folder))
    return {link for link in links if link and NODE.fullmatch(link)}


def process(machine: Machine, pid: int, held: Iterable[str] = ()) -> Holder | None:
    """Return who a process is; null when it is gone."""
    line = machine.text(f"/proc/{pid}/stat") or ""
    fields = line.rpartition(")")[2].split()
    if len(fields) < 20:
        return None
    state, parent, started = fields[0], number(fields[1]), number(fields[19])
    command = ""
    # Reading the command line of a process stuck in the kernel can get stuck too; its name cannot.
    if state not in "DZX":
        command = plain((machine.text(f"/proc/{pid}/cmdline", 4096) or "").replace("\0", " "))
    uptime_s = re.match(r"\d+(\.\d+)?", machine.text("/proc/uptime") or "")
    age_s = None
    if uptime_s and started is not None:
        age_s = max(0.0, float(uptime_s[0]) - started / os.sysconf("SC_CLK_TCK"))
    text = machine.text(f"/proc/{pid}/status") or ""
    uid = re.search(r"^Uid:\s+(\d+)", text, re.MULTILINE)
    return Holder(
        pid=pid,
        parent=parent,
        user=machine.user_name(int(uid[1])) if uid else "unknown user",
        command=command or f"[{plain(line[line.find('(') + 1 : line.rfind(')')])}]",
        age_s=age_s,
        zombie=state in "ZX",
        nodes=tuple(sorted(held)),
    )


def age_text(age_s: float) -> str:
    """Return an age in seconds as people say it, such as `2 h 5 min`."""
    minutes, seconds = divmod(int(age_s), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    first = next((index for index, (value, _) in enumerate(parts) if value), 3)
    return " ".join(f"{value} {unit}" for value, unit in parts[first : first + 2] if value) or "0 s"


def sees_every_process(machine: Machine) -> bool | None:
    """Tell whether this user sees what every process has open; null where there is no /proc."""
    pids = [name for name in machine.names("/proc") if name.isdecimal()]
    return all(machine.may(f"/proc/{pid}/fd", os.R_OK) for pid in pids) if pids else None


@dataclass(frozen=True)
class Lock:
    """libtpu's lock file, looked at without touching the lock."""

    state: Literal["absent", "stale", "live", "foreign"]
    """`stale`: nobody holds it, which is harmless. `live`: a process holds it. `foreign`: nobody is
    seen holding it, but libtpu, run by this user, cannot open it and says the TPU is in use."""
    owner: str | None = None
    pid: int | None = None
    """The process that holds it, where the kernel says."""


def lock(machine: Machine) -> Lock:
    """Tell the states of libtpu's lock file apart, by /proc/locks and F_GETLK.

    Source: libtpu 0.0.50.1 tried without a TPU (2026-11): it takes a POSIX lock, ignores flock(2)
    and does not mind a stale file.
    """
    about = machine.status(LOCK_FILE)
    if about is None:
        return Lock("absent")
    owner = machine.user_name(about.st_uid)
    held = _in_proc_locks(machine, about) or _by_getlk(machine)
    if held:
        return Lock("live", owner, held if held > 0 else None)
    return Lock("stale" if _can_reopen(machine, about) else "foreign", owner)


def _in_proc_locks(machine: Machine, about: os.stat_result) -> int:
    """Return the pid that holds a POSIX lock on a file, -1 if the kernel hides it, 0 for none.

    A line reads `1: POSIX  ADVISORY  WRITE 4242 08:01:1234 0 EOF`; flock(2) locks start with FLOCK.
    """
    wanted = f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}:{about.st_ino}"
    for line in (machine.text("/proc/locks", 1 << 20) or "").splitlines():
        fields = line.split()
        if len(fields) > 5 and fields[1] in ("POSIX", "OFDLCK") and fields[5] == wanted:
            return max(number(fields[4]) or -1, -1)
    return 0


def _by_getlk(machine: Machine) -> int:
    """Ask the kernel who would stand in the way; pid, -1 or 0 as above.

    It also sees locks of other process namespaces and of overlay file systems, which /proc/locks
    hides or names otherwise.
    """
    if sys.platform != "linux":
        return 0
    path = str(machine.path(LOCK_FILE))
    # Closing a file drops all locks its own process has on it: not where this process has it open.
    here = Machine(env={})
    if any(here.link(f"/proc/self/fd/{fd}") == path for fd in here.names("/proc/self/fd")):
        return os.getpid()
    import fcntl

    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return 0
    try:
        asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = struct.unpack("hhqqi", fcntl.fcntl(fd, fcntl.F_GETLK, asked))
    except OSError:
        return 0
    finally:
        os.close(fd)
    return 0 if kind == fcntl.F_UNLCK else max(pid or -1, -1)


def _can_reopen(machine: Machine, about: os.stat_result) -> bool:
    """Tell whether libtpu may open the file: it asks for O_RDWR|O_CREAT, seen in libtpu 0.0.50.1.

    Linux may refuse that even to root, for a file of another user in a sticky folder such as /tmp.
    Source: docs.kernel.org/admin-guide/sysctl/fs.html, protected_regular (read 2026-11).
    """
    uid = os.geteuid() if machine.uid is None else machine.uid
    folder = machine.status(os.path.dirname(LOCK_FILE))  # noqa: PTH120 -- a name on that machine
    guarded = (number(machine.text("/proc/sys/fs/protected_regular")) or 0) > 0
    shared = stat.S_ISVTX | stat.S_IWOTH
    if guarded and folder and folder.st_mode & shared == shared:
        usable = about.st_uid in (uid, folder.st_uid)
        return usable and machine.may(LOCK_FILE, os.R_OK | os.W_OK)
    return machine.may(LOCK_FILE, os.R_OK | os.W_OK)

"""Obstacles that keep libtpu from its lock file, and their remedies."""

import re

from tpustarter.checks.host import _holders
from tpustarter.machine import frameworks, host
from tpustarter.probe.finding import Hint

LOCK = host.LOCK_FILE
ALONE = (0, 0, 52)
"""The last libtpu with a single lock file; newer XLA falls back to a folder of the user's.
Source: github.com/openxla/xla xla/stream_executor/tpu/tpu_initialize_util.cc (read 2026-11)."""

IN_THE_WAY = {
    "folder": (
        "a folder",
        Hint.run(f"sudo rmdir {LOCK}", "; `docker -v` created the folder for a missing path"),
    ),
    "socket": ("a socket", Hint.run(f"sudo rm {LOCK}")),
    "link": ("a symbolic link, which libtpu does not follow", Hint.run(f"sudo rm {LOCK}")),
    "read-only": (
        "cannot be written, because /tmp is read-only",
        "give the container its own /tmp, with docker's `--tmpfs /tmp` or a pod's `emptyDir`",
    ),
    "no folder": (
        "cannot be created, because there is no /tmp",
        Hint.run("sudo mkdir -m 1777 /tmp"),
    ),
}
"""Finding and advice by `Lock.why`. Each was tested with libtpu 0.0.50.1, which reports that the
TPU is in use."""


def found_and_hint(machine: host.Machine, lock: host.LibtpuLock) -> tuple[str, str]:
    """Return the problem of a lock file that no process holds, and the advice."""
    if lock.why:
        return IN_THE_WAY[lock.why]
    actual = f"a file of user {lock.owner} that this user cannot open"
    return (
        actual,
        f"run `{_holders.lsof(machine)}`, and if it shows no process, run `sudo rm {LOCK}`",
    )


def goes_elsewhere() -> bool:
    """Return whether this Python's libtpu uses another lock file if it cannot open the first."""
    installed = str(frameworks.read_versions()["frameworks"].get("libtpu", ""))
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", installed)
    return bool(numbers) and tuple(map(int, numbers.groups())) > ALONE

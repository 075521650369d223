"""A copy of this machine for one test, whose changes are discarded afterwards.

It has this machine's files below an overlay in memory that takes every change, its own processes,
and this machine's kernel and network.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.guest import TAKE_JOBS, Guest, started

_INIT = """\
set -e
mount --make-rprivate /
mount -t tmpfs memory "$1"
cd "$1"
mkdir up work root
mount -t overlay overlay -o lowerdir=/,upperdir="$1/up",workdir="$1/work" root
cd root
mount --rbind /dev dev
mount --rbind /sys sys
mount -t proc proc proc
mount -t tmpfs run run
mkdir -p jobs before var/lib/docker
mount --bind "$2" jobs
mount -t tmpfs docker var/lib/docker
pivot_root . before
umount -l /before
cd /
set +e
cat >/usr/bin/systemctl <<'END'
#!/bin/sh
# Stands in for systemd: what it starts belongs to the machine, and not to whoever asks for it.
case "$*" in
  "start docker.service") : >/run/start-docker
    while [ ! -S /run/docker.sock ] || [ ! -e /run/docker.pid ]; do sleep 0.05; done ;;
  "stop docker.service") pid=$(cat /run/docker.pid) && kill "$pid"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done; rm -f /run/docker.sock ;;
esac
END
chmod 755 /usr/bin/systemctl
mkdir -p /run/systemd/system
while :; do
  if [ -e /run/start-docker ]; then
    rm /run/start-docker
    dockerd >/var/log/dockerd 2>&1 </dev/null &
  fi
  sleep 0.05
done &
"""


def missing() -> str:
    """Return the requirement of a sandbox that this machine lacks, or an empty string."""
    if os.geteuid() != 0:
        return "root"
    if "overlay" not in Path("/proc/filesystems").read_text():
        return "overlayfs in its kernel"
    lacking = [tool for tool in ("unshare", "pivot_root") if shutil.which(tool) is None]
    return ", ".join(lacking)


def gives_every_capability() -> bool:
    """Return whether a program on this machine may have every capability of the kernel.

    A privileged container requests all of them, and runc fails if one is missing.
    """
    status = Path("/proc/self/status").read_text()
    bounding = int(status.partition("CapBnd:")[2].split()[0], 16)
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    return bounding == (1 << (last + 1)) - 1


@contextmanager
def sandbox(folder: Path) -> Iterator[Guest]:
    """Yield a copy of this machine that accepts commands; `folder` must not exist."""
    jobs, layer = folder / "jobs", folder / "layer"
    jobs.mkdir(parents=True)
    layer.mkdir()
    words = [
        "unshare",
        "--mount",
        "--pid",
        "--ipc",
        "--uts",
        "--fork",
        "--kill-child",
        "sh",
        "-c",
        _INIT + TAKE_JOBS,
        "sh",
        str(layer),
        str(jobs),
    ]
    with started(words, jobs) as running:
        yield running

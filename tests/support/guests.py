"""Machines with their own kernel, by user-mode Linux, for tests that need one.

A guest is an ordinary process. It sees this machine's files and writes its changes to its own disk,
so that this machine stays unchanged. `/srv` is on that disk, because a share has to be on a real
file system. Guests of one `network` reach only each other.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.guest import TAKE_JOBS, Guest, started
from tests.support.processes import HANG_S

LINUX = Path("/usr/bin/linux.uml")
_MODULES = Path("/usr/lib/uml/modules")
_TOOLS = ("ip", "insmod", "mkfs.ext4")
_ROOT = ("root=/dev/root", "rootfstype=hostfs", "rootflags=/")
_CONSOLES = ("con=null", "con0=null,fd:1", "quiet")

_INIT = """\
#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t tmpfs root /mnt && cd /mnt
insmod {modules}/kernel/fs/overlayfs/overlay.ko
mkdir proc sys dev run srv mnt disk host jobs
mount /dev/ubda disk
for path in /*; do
  name=${{path#/}}
  if [ -L "$path" ]; then cp -a "$path" "$name"
  elif [ -d "$path" ] && [ ! -e "$name" ]; then
    mkdir -p "$name" "disk/up/$name" "disk/work/$name"
    mount -t overlay "$name" "$name" \\
      -o "lowerdir=$path,upperdir=disk/up/$name,workdir=disk/work/$name"
  fi
done
mkdir disk/srv && mount --bind disk/srv srv
mount -t tmpfs run run
mount -t proc proc proc
mount -t sysfs sys sys
mount -t devtmpfs dev dev
mkdir -p usr/lib/modules && ln -sfn {modules} usr/lib/modules/
pivot_root . host
mount -t hostfs -o {jobs} jobs /jobs
ip link set lo up
ip link set eth0 up
for address in {addresses}; do ip address add $address dev eth0; done
export {variables}
{take_jobs}"""


def missing() -> str:
    """Return the requirement of a guest that this machine lacks, or an empty string."""
    if os.geteuid() != 0:
        return "root"
    if not LINUX.exists():
        return "Debian's package user-mode-linux"
    lacking = [tool for tool in _TOOLS if shutil.which(tool) is None]
    return ", ".join(lacking) or ("" if starts() else "a processor that user-mode Linux knows")


def starts(kernel: Path = LINUX) -> bool:
    """Return whether a minimal guest starts, which only creates a file.

    A guest's first process dies if the processor has more registers than the guest's kernel can
    store, as with Linux 6.1 on a processor with AMX: "ptrace set fp regs failed".
    """
    with tempfile.TemporaryDirectory() as folder:
        up, init = Path(folder, "up"), Path(folder, "init")
        init.write_text(f"#!/bin/sh\n: >{up}\n")
        init.chmod(0o755)
        words = [str(kernel), "mem=64M", *_ROOT, "rw", f"init={init}", *_CONSOLES]
        null = subprocess.DEVNULL
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(words, check=False, stdin=null, stdout=null, stderr=null, timeout=HANG_S)
        return up.exists()


@contextmanager
def network(name: str, guests: int) -> Iterator[list[list[str]]]:
    """Yield the words to put before each guest's command, and remove the network afterwards."""
    inside = ["ip", "netns", "exec", name]
    _run("ip", "netns", "add", name)
    try:
        _run(*inside, "ip", "link", "add", "bridge", "up", "type", "bridge")
        for number in range(guests):
            _run(*inside, "ip", "tuntap", "add", f"tap{number}", "mode", "tap")
            _run(*inside, "ip", "link", "set", f"tap{number}", "master", "bridge", "up")
        yield [[*inside, str(LINUX), f"eth0=tuntap,tap{number}"] for number in range(guests)]
    finally:
        _run("ip", "netns", "delete", name)


@contextmanager
def guest(
    folder: Path, before: Sequence[str], addresses: Sequence[str], variables: dict[str, str]
) -> Iterator[Guest]:
    """Yield a running guest, whose files are in `folder`, and kill it at the end."""
    (modules,) = _MODULES.iterdir()
    folder.mkdir()
    disk, init = folder / "disk", folder / "init"
    with disk.open("wb") as file:
        file.truncate(2**30)
    _run("mkfs.ext4", "-q", str(disk))
    exported = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    init.write_text(
        _INIT.format(
            modules=modules,
            jobs=folder,
            addresses=" ".join(addresses),
            variables=exported,
            take_jobs=TAKE_JOBS,
        )
    )
    init.chmod(0o755)
    words = [*before, "mem=512M", f"ubda={disk}", *_ROOT, "ro", f"init={init}", *_CONSOLES]
    with started(words, folder) as running:
        yield running


def _run(*words: str) -> None:
    subprocess.run(words, check=True)

"""Machines with a kernel of their own, for what only a kernel can show: user-mode Linux.

A guest is an ordinary process. Its files are this machine's, and what it changes lands on a disk
of its own, so nothing of this machine is touched. `/srv` lies on that disk, for a share has to be
on a real file system. Guests of one `network` reach each other and nobody else.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LINUX = Path("/usr/bin/linux.uml")
BOOT_S = 60
_MODULES = Path("/usr/lib/uml/modules")
_TOOLS = ("ip", "insmod", "mkfs.ext4")

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
: >/jobs/up
while :; do
  if [ -e /jobs/next ]; then
    sh /jobs/next >/jobs/out 2>&1 </dev/null
    echo $? >/jobs/code
    rm /jobs/next
  fi
  sleep 0.05
done
"""


def missing() -> str:
    """Return what this machine lacks for a guest, empty for nothing."""
    if os.geteuid() != 0:
        return "root"
    if not LINUX.exists():
        return "Debian's package user-mode-linux"
    lacking = [tool for tool in _TOOLS if shutil.which(tool) is None]
    return ", ".join(lacking)


@dataclass(frozen=True)
class Guest:
    """A running machine; its commands are shell lines, run one after the other as root."""

    jobs: Path
    process: subprocess.Popen[bytes]

    def run(self, line: str, *, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
        """Run a line to its end."""
        name = self.jobs / "next"
        made = self.jobs / "next.made"
        made.write_text(line + "\n")
        made.rename(name)
        self._wait_until(lambda: not name.exists(), line, timeout_s)
        code = int((self.jobs / "code").read_text())
        return subprocess.CompletedProcess(line, code, (self.jobs / "out").read_text())

    def wait_until_up(self) -> None:
        """Wait until the guest takes commands."""
        self._wait_until((self.jobs / "up").exists, "its start", BOOT_S)

    def _wait_until(self, is_so: Callable[[], bool], what: str, timeout_s: float) -> None:
        end = time.monotonic() + timeout_s
        while not is_so():
            log = (self.jobs / "console").read_text(errors="replace")[-2000:]
            assert self.process.poll() is None, f"the guest ended during {what}:\n{log}"
            assert time.monotonic() < end, f"the guest did not end {what} in {timeout_s} s:\n{log}"
            time.sleep(0.02)


@contextmanager
def network(name: str, guests: int) -> Iterator[list[list[str]]]:
    """Yield what to put before each guest's command; the network is gone afterwards."""
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
def guest(folder: Path, before: Sequence[str], addresses: Sequence[str],
          variables: dict[str, str]) -> Iterator[Guest]:  # fmt: skip
    """Yield a guest that runs; it keeps what it needs in `folder` and is killed at the end."""
    (modules,) = _MODULES.iterdir()
    folder.mkdir()
    disk, init = folder / "disk", folder / "init"
    with disk.open("wb") as file:
        file.truncate(2**30)
    _run("mkfs.ext4", "-q", str(disk))
    init.write_text(
        _INIT.format(modules=modules, jobs=folder, addresses=" ".join(addresses),
                     variables=" ".join(f"{name}={shlex.quote(value)}"
                                        for name, value in variables.items()))
    )  # fmt: skip
    init.chmod(0o755)
    root = ["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro"]
    consoles = ["con=null", "con0=null,fd:1", "quiet"]
    words = [*before, "mem=512M", f"ubda={disk}", *root, f"init={init}", *consoles]
    with (folder / "console").open("wb") as console, subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True
    ) as process:  # fmt: skip
        try:
            running = Guest(folder, process)
            running.wait_until_up()
            yield running
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # its processes are ours, in a group of its own
            process.wait()


def _run(*words: str) -> None:
    subprocess.run(words, check=True)

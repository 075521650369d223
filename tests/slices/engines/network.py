"""Hosts on one machine: each with a network namespace, an sshd and a folder of its own.

    with network(tmp_path, 3) as hosts:
        ssh -F {hosts.config} h0

A host's link is cut with `cut`: nothing says so, as when a cable is pulled. Its temporary files are
below `host.temporary`, and its processes are those in its namespace.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.processes import until

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
ETC = Path("/etc/netns")
"""Folder of files that a namespace has in place of those in `/etc`: all hosts know their names."""
TOOLS = ("ip", "tc", "unshare", "ssh", "ssh-keygen", "mount")


def run(*words: str) -> str:
    """Run a command that must not fail, and return its output."""
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def lacks() -> str:
    """Return the reason why no hosts can be made here; empty if they can."""
    if os.geteuid() != 0:
        return "Hosts with a network of their own are made by root alone."
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing or SSHD is None:
        return f"Hosts with a network of their own need {' '.join(missing) or 'sshd'}."
    name = f"ts{os.getpid()}x"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode:
        return "This machine lets nobody make a network namespace."
    run("ip", "netns", "del", name)
    return ""


_TURNS = itertools.count()
"""Numbers of the networks that this process has made: each has its own names and addresses."""
_LACKS = lacks()
NETWORK = [pytest.mark.root, pytest.mark.skipif(bool(_LACKS), reason=_LACKS or "-")]


@dataclass
class Host:
    """A host with its own network, sshd and folders."""

    number: int
    space: str
    """Its network namespace."""
    link: str
    """The end of its link in the namespace of the tests."""
    address: str
    folder: Path
    server: subprocess.Popen[bytes] | None = None
    environment: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def name(self) -> str:
        """The name by which ssh knows it."""
        return f"h{self.number}"

    @property
    def temporary(self) -> Path:
        """The folder for temporary files on it."""
        return self.folder / "tmp"

    def start(self) -> None:
        """Start its sshd, with new host keys where it has none."""
        key = self.folder / "host_key"
        if not key.exists():
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
        values = {"TMPDIR": str(self.temporary), "FAKE_HOST": str(self.number)} | self.environment
        config = self.folder / "sshd_config"
        config.write_text(
            f"HostKey {key}\nPidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\n"
            f"AuthorizedKeysFile {self.folder}/authorized_keys\nPasswordAuthentication no\n"
            f"MaxStartups 100\nSetEnv {' '.join(f'{name}={one}' for name, one in values.items())}\n"
        )
        Path("/run/sshd").mkdir(exist_ok=True)
        assert SSHD is not None
        with (self.folder / "sshd.log").open("ab") as log:
            self.server = subprocess.Popen(
                [
                    *("ip", "netns", "exec", self.space, "unshare", "--uts", "sh", "-c"),
                    f'echo {self.name} >/proc/sys/kernel/hostname; exec "$0" "$@"',
                    *(SSHD, "-D", "-e", "-f", str(config)),
                ],
                stdin=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        until(lambda: ":22 " in self._listening(), "an sshd that listens")

    def _listening(self) -> str:
        lines = run("ip", "netns", "exec", self.space, "cat", "/proc/net/tcp").splitlines()
        return " ".join(f"{line.split()[1].replace('0016', '22')} " for line in lines[1:])

    def stop_server(self) -> None:
        """Stop its sshd; the processes that it has started keep running."""
        if self.server:
            self.server.terminate()
            self.server.wait()
            self.server = None

    def cut(self) -> None:
        """Cut its network link without closing connections."""
        run("ip", "link", "set", self.link, "down")

    def mend(self) -> None:
        """Join its link again."""
        run("ip", "link", "set", self.link, "up")

    def slow_down(self) -> None:
        """Let so little through its link, in either direction, that arrays take long."""
        limit = ("root", "tbf", "rate", "20mbit", "burst", "32kbit", "latency", "400ms")
        run("tc", "qdisc", "add", "dev", self.link, *limit)
        run("tc", "-n", self.space, "qdisc", "add", "dev", "eth0", *limit)

    def filter(self) -> None:
        """Block traffic between this and other filtered hosts; this machine reaches them all."""
        run("ip", "link", "set", self.link, "type", "bridge_slave", "isolated", "on")

    def processes(self) -> dict[int, str]:
        """Return the command lines of its processes except sshd, by process id."""
        found: dict[int, str] = {}
        for pid in run("ip", "netns", "pids", self.space).split():
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
                stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
                if words and b"sshd" not in words.split(b" ")[0] and stat != "Z":
                    found[int(pid)] = words.decode().strip()
        return found

    def files(self) -> list[str]:
        """Return the names of the files in its temporary folder."""
        return sorted(path.name for path in self.temporary.iterdir())

    def clear(self) -> None:
        """End and remove whatever is left."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for path in self.temporary.iterdir():
            shutil.rmtree(path, ignore_errors=True)

    def is_clean(self) -> bool:
        """Return whether it has no running process and no temporary file."""
        return not self.processes() and not self.files()


@dataclass
class Hosts:
    """The hosts, and the configuration by which ssh reaches them."""

    hosts: list[Host]
    config: Path
    """The configuration for ssh, which names them."""
    key: Path

    def __getitem__(self, number: int) -> Host:
        return self.hosts[number]

    def __iter__(self) -> Iterator[Host]:
        return iter(self.hosts)

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which ssh knows them."""
        return tuple(host.name for host in self.hosts)

    def wait_until_clean(self, *but: int) -> None:
        """Wait until nothing runs and nothing lies on any host."""
        mine = [host for host in self.hosts if host.number not in but]
        until(
            lambda: all(host.is_clean() for host in mine),
            lambda: [(host.name, host.processes(), host.files()) for host in mine],
        )


@contextlib.contextmanager
def network(folder: Path, count: int, *, homes: bool = False) -> Iterator[Hosts]:
    """Make some hosts on one network, which is this machine's as well.

    With `homes`, root has a home of its own on each host: its folder.
    """
    turn = next(_TURNS)
    mark = f"ts{os.getpid() % 100_000}{chr(97 + turn % 26)}"
    net = f"198.{18 + turn % 2}.{(os.getpid() + 7 * turn) % 250 + 1}"
    bridge = f"{mark}b"
    key = folder / "key"
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
    hosts = [
        Host(i, f"{mark}n{i}", f"{mark}v{i}", f"{net}.{i + 10}", folder / f"h{i}")
        for i in range(count)
    ]
    config = folder / "ssh_config"
    try:
        run("ip", "link", "add", bridge, "type", "bridge")
        run("ip", "addr", "add", f"{net}.1/24", "dev", bridge)
        run("ip", "link", "set", bridge, "up")
        for host in hosts:
            _wire(host, bridge, f"{net}.1")
            host.temporary.mkdir(parents=True)
            names = "".join(f"{one.address} {one.name}\n" for one in hosts)
            (ETC / host.space).mkdir(parents=True)
            (ETC / host.space / "hosts").write_text(f"127.0.0.1 localhost\n{names}")
            if homes:
                (ETC / host.space / "passwd").write_text(passwd_of(host.folder))
            shutil.copy(f"{key}.pub", host.folder / "authorized_keys")
            host.start()
        _write_config(config, folder, key, hosts)
        yield Hosts(hosts, config, key)
    finally:
        for host in hosts:
            with contextlib.suppress(AssertionError):
                for pid in run("ip", "netns", "pids", host.space).split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), 9)
            host.stop_server()
            subprocess.run(["umount", str(host.temporary)], capture_output=True, check=False)
            subprocess.run(["ip", "link", "del", host.link], capture_output=True, check=False)
            subprocess.run(["ip", "netns", "del", host.space], capture_output=True, check=False)
            shutil.rmtree(ETC / host.space, ignore_errors=True)
        subprocess.run(["ip", "link", "del", bridge], capture_output=True, check=False)


def passwd_of(home: Path) -> str:
    """Return the users of a host: root with a home of its own, and those that every host has."""
    lines = Path("/etc/passwd").read_text().splitlines()
    others = [line for line in lines if not line.startswith(("root:", "sshd:"))]
    ours = [f"root:x:0:0:root:{home}:/bin/bash", "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin"]
    return "".join(f"{line}\n" for line in [*ours, *others])


def _wire(host: Host, bridge: str, gateway: str) -> None:
    run("ip", "netns", "add", host.space)
    inner = ("peer", "name", "eth0", "netns", host.space)
    run("ip", "link", "add", host.link, "type", "veth", *inner)
    run("ip", "link", "set", host.link, "master", bridge, "up")
    inside = ("ip", "-n", host.space)
    run(*inside, "link", "set", "lo", "up")
    run(*inside, "addr", "add", f"{host.address}/24", "dev", "eth0")
    run(*inside, "link", "set", "eth0", "up")
    # With a fixed neighbour a cut link is silent: else `No route to host` comes after 3 s.
    hardware = run(*inside, "-br", "link", "show", "eth0").split()[2]
    run("ip", "neigh", "replace", host.address, "lladdr", hardware, "dev", bridge)


def _write_config(config: Path, folder: Path, key: Path, hosts: list[Host]) -> None:
    known = folder / "known_hosts"
    lines = [f"IdentityFile {key}", "IdentitiesOnly yes", f"UserKnownHostsFile {known}"]
    lines += ["StrictHostKeyChecking yes", "User root"]
    for host in hosts:
        lines += [f"Host {host.name}", f"    HostName {host.address}"]
    config.write_text("\n".join(lines) + "\n")
    known.write_text(
        "".join(f"{host.address} {(host.folder / 'host_key.pub').read_text()}" for host in hosts)
    )

"""Hosts of a slice, each the real command in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.places import REPOSITORY, TESTS
from tpustarter.core import locations

CHECKS = locations.content_folder("checks")

WAIT_S = 20
"""Seconds that hosts wait for each other here; the test's own limit is far longer."""
END_S = 240


def free_port() -> int:
    """Return a port that nothing has open."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@dataclass
class Host:
    """A host of the slice, and the output of its command."""

    process: subprocess.Popen[bytes]
    folder: Path
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    """Seconds until it ended, once it has."""

    @property
    def output(self) -> str:
        """What it has printed on stdout so far."""
        return (self.folder / "stdout").read_text()

    @property
    def errors(self) -> str:
        """What it has printed on stderr so far."""
        return (self.folder / "stderr").read_text()

    def wait(self) -> int:
        """Wait for its end, and return its exit code."""
        code = self.process.wait(END_S)
        self.seconds = time.monotonic() - self.began
        return code

    def events(self) -> list[dict[str, Any]]:
        """Return the events of `--ndjson` so far."""
        return [
            json.loads(line)
            for line in self.output.splitlines(keepends=True)
            if line.endswith("\n")
        ]

    def until(self, event: str, check_id: str = "") -> None:
        """Wait for an event of `--ndjson`."""
        deadline = time.monotonic() + END_S
        while time.monotonic() < deadline:
            for one in self.events():
                if one["event"] == event and check_id in ("", one.get("id")):
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)  # between two looks
        raise AssertionError(f"no {event} {check_id}: {self.output[-2000:]}\n{self.errors[-2000:]}")


@dataclass(frozen=True)
class Slice:
    """The hosts of a slice and their coordinator's port."""

    hosts: Sequence[Host]
    port: int

    def report(self) -> dict[str, Any]:
        """Wait for all hosts, and return the report of host 0."""
        for host in self.hosts:
            host.wait()
        return json.loads(self.hosts[0].output)


Change = Mapping[str, Any]
"""What differs on a host: `env`, `arguments`, `python`; None in its place for a host that is not
started."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What all hosts of a slice are started with."""

    devices: int = 2
    checks: Path = CHECKS
    output: str = "--json"
    port: int = field(default_factory=free_port)


@contextlib.contextmanager
def started(
    folder: Path, changes: Sequence[Change | None], *ids: str, **options: Any
) -> Iterator[Slice]:
    """Start a host for each change, on CPU devices; ends whatever still runs."""
    common = Options(**options)
    hosts: list[Host] = []
    try:
        for number, change in enumerate(changes):
            if change is not None:
                place = {"--hosts": len(changes), "--host": number}
                hosts.append(_start(folder / f"host-{number}", place, change, ids, common))
        yield Slice(hosts, common.port)
    finally:
        for host in hosts:
            if host.process.poll() is None:
                host.process.send_signal(signal.SIGCONT)
                host.process.kill()
                host.process.wait()


def _start(
    folder: Path, place: Mapping[str, int], change: Change, ids: Sequence[str], common: Options
) -> Host:
    folder.mkdir(parents=True)
    env = {
        **os.environ,
        "TPUSTARTER_HOME": str(folder / "state"),
        "PYTHONPATH": str(change.get("path", "")),
        **change.get("env", {}),
    }
    words = {
        "--coordinator": f"127.0.0.1:{common.port}",
        **place,
        "--devices": common.devices,
        "--wait": WAIT_S,
        "--python": change.get("python", sys.executable),
        **change.get("arguments", {}),
    }
    command = [sys.executable, str(TESTS / "support" / "drive_slice.py"), str(common.checks)]
    command += ["check", "--all-hosts", common.output, *ids]
    command += [word for name, value in words.items() for word in (name, str(value))]
    with (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
        process = subprocess.Popen(
            command, stdout=stdout, stderr=stderr, stdin=subprocess.DEVNULL, env=env, cwd=REPOSITORY
        )
    return Host(process, folder)

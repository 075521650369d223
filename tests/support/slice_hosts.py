"""Hosts of a slice, each of which runs the real command in its own process."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
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
"""Seconds that hosts wait for each other; the test's own timeout is far longer."""
END_S = 240


def free_port() -> int:
    """Return a free port."""
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
    """Duration of the command, once it has ended."""

    @property
    def output(self) -> str:
        """Return its output on stdout so far."""
        return (self.folder / "stdout").read_text()

    @property
    def errors(self) -> str:
        """Return its output on stderr so far."""
        return (self.folder / "stderr").read_text()

    def wait(self, limit_s: float = END_S) -> int:
        """Wait for its end, and return its exit code."""
        code = self.process.wait(limit_s)
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
            time.sleep(0.05)  # between two polls
        raise AssertionError(f"no {event} {check_id}: {self.output[-2000:]}\n{self.errors[-2000:]}")


@dataclass(frozen=True)
class Slice:
    """The hosts of a slice and their coordinator's port."""

    hosts: Sequence[Host]
    port: int

    def report(self, limit_s: float = END_S) -> dict[str, Any]:
        """Wait for all hosts, and return the report of host 0."""
        for host in self.hosts:
            host.wait(limit_s)
        return json.loads(self.hosts[0].output)


Change = Mapping[str, Any]
"""The differences of a host: `env`, `arguments`, `python`; None for a host that is not started."""


HANG = "time.sleep(0 if host != {host} else 300)"
"""Body of a check in which one host hangs, until the test ends it."""
CHECK = '''"""The check {name} of a test."""
import os, time
import jax
from tpustarter.probe.finding import Finding
from tpustarter.probe.slice import shared_checks
shared_checks.SILENT_S = 10  # so that no test waits as long as a user
FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {{"hosts": 2}}
TIMEOUT_S = 100
ESTIMATE_S = 1
LESSON = "slices/run-everywhere"
SOURCE = "https://docs.jax.dev"
def run():
    host = jax.process_index()
    {body}
    yield Finding("TEST-PROBED", "probed", "ok", host)
'''


def write_checks(folder: Path, body: str) -> Path:
    """Write the checks of all hosts, `jax.probed` with a given body, and `jax.after`."""
    (folder / "host").mkdir(parents=True)
    (folder / "jax").mkdir()
    for name in ("slice_arrived", "slice_alike"):
        shutil.copy(CHECKS / "host" / f"{name}.py", folder / "host")
    for name, own in (("probed", body), ("after", "pass")):
        (folder / "jax" / f"{name}.py").write_text(CHECK.format(name=name, body=own))
    return folder


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of all hosts of a slice."""

    devices: int = 2
    checks: Path = CHECKS
    output: str = "--json"
    port: int = field(default_factory=free_port)


@contextlib.contextmanager
def started(
    folder: Path, changes: Sequence[Change | None], *ids: str, **options: Any
) -> Iterator[Slice]:
    """Start a host for each change, on CPU devices, and kill those that run at the end."""
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


def start_command(
    folder: Path, engine: str, *words: str, checks: Path = CHECKS, output: str = "--json"
) -> tuple[list[str], dict[str, str]]:
    """Return the command and environment of a check that starts its hosts, which wait an hour."""
    command = [sys.executable, str(TESTS / "support" / "drive_slice.py"), str(checks), "check"]
    command += ["--all-hosts", output, "--yes", "--wait", "3600", "--devices", "2"]
    command += ["--python", sys.executable, "--coordinator", f"127.0.0.1:{free_port()}"]
    env = {**os.environ, "TPUSTARTER_HOME": str(folder / "state")}
    return [*command, "--start", engine, *words], env


def run_started(
    folder: Path, engine: str, *words: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a check that starts its own hosts, and wait for its end."""
    command, variables = start_command(folder, engine, *words)
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**variables, **(env or {})},
        cwd=REPOSITORY,
        check=False,
    )


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

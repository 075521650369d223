"""A host of a run on which tpustarter is not installed; the probe's zip file contains all it needs.

`request.json` in the zip is the same for every host. Events are written to stdout as JSON lines.
stdin is a lifeline: the run ends when it closes, or is silent for longer than a given limit. On
host 0 it also carries the hosts that will not come, as JSON lines.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import select
import subprocess
import sys
import tempfile
import time
import zipfile
from typing import TYPE_CHECKING

from tpustarter.machine import frameworks, host
from tpustarter.probe.slice.messages import StandaloneRequest
from tpustarter.probe.slice.shared_checks import INCONCLUSIVE

if TYPE_CHECKING:
    from tpustarter.probe.commands import TargetCommand
    from tpustarter.probe.slice.messages import BeginSliceCommand, VerdictCommand

    SliceStep = TargetCommand | BeginSliceCommand | VerdictCommand

REQUEST = "request.json"
_LAST = ("checked-all", "followed", "no-place", "not-reached", "port-taken", "lost")
"""Events after which the child only has to end the run."""


def main(arguments: list[str]) -> int:
    """Run one host of a slice check and return its exit code.

    Usage: `slice [--coordinator HOST:PORT] [--hosts N] [--host I] [--lifeline-s S]
    [--no-lifeline]`.
    """
    parser = argparse.ArgumentParser(prog="probe.pyz slice")
    parser.add_argument("--coordinator")
    parser.add_argument("--hosts", type=int)
    parser.add_argument("--host", type=int)
    parser.add_argument("--lifeline-s", type=float, default=math.inf)
    parser.add_argument("--no-lifeline", action="store_true")
    options = parser.parse_args(arguments[1:])
    with zipfile.ZipFile(sys.argv[0]) as archive:
        request: StandaloneRequest = json.loads(archive.read(REQUEST))
    begin: BeginSliceCommand = {
        **request["slice"],
        "do": "slice",
        "coordinator": options.coordinator,
        "hosts": options.hosts,
        "host": options.host,
    }
    commands: list[SliceStep] = [_prepare(request), begin]
    with tempfile.TemporaryDirectory() as folder:
        own = ("TMPDIR", "TPU_LOG_DIR", "JAX_COMPILATION_CACHE_DIR")
        os.environ.update(dict.fromkeys(own, folder))
        return _supervise(commands, None if options.no_lifeline else options.lifeline_s)


def _supervise(commands: list[SliceStep], lifeline_s: float | None) -> int:
    control, control_end = os.pipe()
    events, events_end = os.pipe()
    words = ["supervise", str(control), str(events_end), "-"]
    supervisor = subprocess.Popen(
        [sys.executable, "-I", "-S", sys.argv[0], *words],
        stdin=subprocess.PIPE,
        stdout=2,  # output of C++ runtimes is not an event
        pass_fds=[control, events_end],
    )
    os.close(control)
    os.close(events_end)
    relay, rest, last = _Relay(control_end), b"", time.monotonic()
    for command in commands:
        relay.send(command)
    watched = [events] if lifeline_s is None else [events, 0]
    limit_s = math.inf if lifeline_s is None else lifeline_s
    while True:
        wait_s = last + limit_s - time.monotonic()
        has_limit = 0 in watched and limit_s != math.inf
        ready, _, _ = select.select(watched, [], [], max(0.0, wait_s) if has_limit else None)
        if events in ready:
            data = os.read(events, 65536)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in filter(None, lines):
                relay.pass_on(line)
        if 0 in ready and (data := os.read(0, 4096)):
            last = time.monotonic()
            relay.take(data)
        elif 0 in ready or (not ready and 0 in watched):  # nobody is waiting for this run
            if supervisor.stdin:
                supervisor.stdin.close()
            watched = [events]
    supervisor.wait()
    return relay.code


class _Relay:
    """Passes events on to stdout with this host's number, and commands to the child."""

    def __init__(self, control: int) -> None:
        self.code = INCONCLUSIVE
        self._number: int | None = None
        self._control: int | None = control
        self._told = b""
        """Input for host 0's child while it waits for the others."""
        self._is_waiting = True

    def send(self, command: SliceStep) -> None:
        self._write(json.dumps(command).encode() + b"\n")

    def take(self, data: bytes) -> None:
        """Handle lines from stdin: heartbeats, and hosts that will not come."""
        self._told += data
        if self._number == 0 and self._is_waiting:
            *lines, self._told = self._told.split(b"\n")
            for line in filter(None, lines):
                self._write(line + b"\n")

    def _write(self, data: bytes) -> None:
        if self._control is not None:
            with contextlib.suppress(OSError):  # the child has ended
                os.write(self._control, data)

    def pass_on(self, line: bytes) -> None:
        """Print a line if it is an event; drop output of a check."""
        try:
            event = json.loads(line)
            kind = event["event"]
        except (ValueError, TypeError, KeyError):
            return
        if kind == "placed":
            self._number = event["host"]
            self.take(b"")
        elif kind == "arrived":
            self._is_waiting = False
        elif kind in _LAST and self._control is not None:
            self.send({"do": "verdict", "code": None, "headline": ""})
            os.close(self._control)
            self._control = None
        elif kind == "ended" and type(event["code"]) is int:
            self.code = event["code"]
        _write(json.dumps({"event": kind, "from": self._number, **event}).encode() + b"\n")


def _write(data: bytes) -> None:
    with contextlib.suppress(OSError):  # nobody reads: the lifeline ends the run
        while data:
            data = data[os.write(1, data) :]


def _prepare(request: StandaloneRequest) -> TargetCommand:
    # The choices that `checking/plan` makes if tpustarter is installed.
    machine, devices = host.Machine(), request["devices"]
    os.environ.update(request["env"])
    platforms = os.environ.get("JAX_PLATFORMS", "")
    platform = platforms.split(",")[0] or ("cpu" if devices else host.guess_platform(machine))
    platform = "gpu" if platform in ("cuda", "rocm") else platform
    metadata = host.metadata(machine) if platform == "tpu" else None
    generation = host.find_generation(machine, metadata)
    count = devices if platform == "cpu" else host.count_visible_devices(machine, metadata)
    for name, value in frameworks.platform_variables("jax", platform, count, os.environ).items():
        os.environ.setdefault(name, value)
    return {
        "do": "target",
        "platform": platform,
        "devices": count,
        "generation": generation.name if generation else None,
        "virtual": platform == "cpu" and (count or 1) > 1,
        "root": "/",
        "uid": None,
        "minutes": request.get("minutes"),
    }

"""A day of commands over both APIs and five zones, in which the program is killed at set points.

Both services are of this process, so a kill meets a call exactly: before it is carried out, or
after that and before its answer. Whoever holds a `Day` sees the services as Google does.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.cloud import tpu_v2

from tests.support import fake_cloud, fake_compute
from tests.support.cloud_runs import ZonesCloud
from tests.support.fake_compute import PROJECT, FakeCompute
from tests.support.file_clock import FileClock
from tests.support.places import SUPPORT
from tpustarter.cloud.billing import ledger

Place = tuple[str, str, str]
"""API, zone and name of a TPU."""
CHANGES = ("Create", "Delete", "Stop", "Start")
"""Beginnings of the methods of the Cloud TPU API that change something."""
PATIENT_READS = 12
"""Most calls that go by before a kill at any call."""


class Killer:
    """Kills the running command at a random call, before or after the call is carried out."""

    def __init__(self, pid: Path, chance: random.Random) -> None:
        self._pid, self._chance, self._lock = pid, chance, threading.Lock()
        self.points: list[str] = []
        """The calls at which a command was killed."""
        self.is_armed = self._only_changes = self._after = False
        self._skipped = 0

    def arm(self, *, at_reads: bool = False) -> None:
        """Choose the next kill: at one of the next calls, and mostly at one that changes something.

        Args:
            at_reads: The next commands change nothing.
        """
        self._only_changes = not at_reads and self._chance.random() < 0.7
        self._after = self._chance.random() < 0.5
        self._skipped = self._chance.randrange(2 if self._only_changes else PATIENT_READS)
        self.is_armed = True

    def pass_call(self, call: str, *, is_change: bool, after: bool) -> bool:
        """Kill the command if it is time; returns whether it was killed."""
        with self._lock:
            if not self.is_armed or after != self._after or (self._only_changes and not is_change):
                return False
            self._skipped -= 1
            if self._skipped >= 0:
                return False
            self.is_armed = False
            self.points.append(f"{'after' if after else 'before'} {call}")
            os.kill(int(self._pid.read_text()), signal.SIGKILL)
            return True


@dataclass
class DayCloud(ZonesCloud):
    """The Cloud TPU API, whose nodes have an address, and at whose calls a command is killed."""

    killer: Killer | None = None

    def _node(self, *words: Any) -> Any:
        made = super()._node(*words)
        made.network_endpoints = [tpu_v2.NetworkEndpoint(ip_address="10.0.0.2")]
        return made

    def _answer(self, method: str, do: Callable[[Any], Any], request: Any, context: Any) -> Any:
        assert self.killer is not None
        call = f"{method} {getattr(request, 'name', '') or getattr(request, 'parent', '')}"
        is_change = method.startswith(CHANGES)
        if self.killer.pass_call(call, is_change=is_change, after=False):
            context.abort(fake_cloud.grpc.StatusCode.CANCELLED, "the client is gone")
        answer = super()._answer(method, do, request, context)
        self.killer.pass_call(call, is_change=is_change, after=True)
        return answer


@dataclass
class DayCompute(FakeCompute):
    """Compute Engine with scripts by zone, at whose calls a command is killed."""

    killer: Killer | None = None
    zone_scripts: dict[str, list[Any]] = field(default_factory=dict)

    def answer(self, method: str, target: str, body: Any) -> Any:
        """Return the response, or None if the command was killed."""
        assert self.killer is not None
        is_change = method != "GET"
        call = f"{method} {target.partition('?')[0].partition(f'{PROJECT}/')[2]}"
        if self.killer.pass_call(call, is_change=is_change, after=False):
            return None
        answer = super().answer(method, target, body)
        return None if self.killer.pass_call(call, is_change=is_change, after=True) else answer

    def _insert(self, path: str, body: Any) -> Any:
        own = self.zone_scripts.get(path.split("/")[1], [])
        if path.rpartition("/")[2] in fake_compute.KINDS[:2] and own:
            self.scripts = [own.pop(0)]
        return super()._insert(path, body)


class Day:
    """A user at a terminal, both services, and what must hold after each kill."""

    def __init__(self, folder: Path, cloud: DayCloud, compute: DayCompute, killer: Killer) -> None:
        self.folder, self.cloud, self.compute, self.killer = folder, cloud, compute, killer
        self.others: set[str] = set()
        """Full names of what somebody else made."""
        self.kills = 0
        """Kills that are wanted until now."""
        env = {
            "TPUSTARTER_TPU_ENDPOINT": f"127.0.0.1:{cloud.port}",
            "TPUSTARTER_REST_ENDPOINT": compute.address,
            "CLOUDSDK_CORE_PROJECT": PROJECT,
            "CLOUDSDK_CONFIG": str(folder / "gcloud"),
        }
        words = [sys.executable, str(SUPPORT / "drive_day.py"), str(folder)]
        (code := folder / "train").mkdir()
        (code / "train.py").touch()
        self.process = subprocess.Popen(
            words,
            cwd=code,
            env=os.environ | env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def end(self) -> None:
        """End the process of the commands."""
        self.process.communicate()

    def run(self, *words: str) -> int:
        """Run a command, which may be killed; then the day must be in order."""
        if not self.killer.is_armed and len(self.killer.points) < self.kills:
            self.killer.arm()
        code = self._run(*words)
        if code == -signal.SIGKILL:
            self.check()
        return code

    def _run(self, *words: str) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(words), file=self.process.stdin, flush=True)
        code = int(self.process.stdout.readline())
        assert code != 70, self.output
        return code

    @property
    def output(self) -> str:
        """Return the output of the last command."""
        return "".join((self.folder / name).read_text() for name in ("out", "err"))

    def listed(self) -> dict[Place, dict[str, Any]]:
        """Return the rows of `tpu list`, which is run without a kill."""
        armed, self.killer.is_armed = self.killer.is_armed, False
        assert 0 == self._run("list", "--json"), self.output
        self.killer.is_armed = armed
        rows = json.loads((self.folder / "out").read_text())["tpus"]
        return {(row["api"], row["zone"], row["name"]): row for row in rows}

    def state(self, api: str, name: str, *zones: str) -> str:
        """Return the state of our TPU of a name, in some zones or in all; "" if there is none."""
        rows = self.listed()
        found = [
            row["state"]
            for key, row in rows.items()
            if key[::2] == (api, name) and row["made_here"] and (not zones or key[1] in zones)
        ]
        return found[-1] if found else ""

    def existing(self) -> dict[str, tuple[Place, str]]:
        """Return place and state of each resource of both services, by its full name."""
        rows = {
            name: (("cloud-tpu", name.split("/")[3], name.split("/")[-1]), state)
            for name, state in self.cloud.existing().items()
            if "/queuedResources/" in name
        }
        for path in self.compute.existing():
            thing = self.compute.things.get(path)  # not the machines of a group
            if thing is not None:
                place = path.split("/")
                state = self.compute.status(thing) or ""
                rows[path] = (("compute", place[1], place[-1]), state)
        return rows

    def check(self) -> None:
        """Fail if something billed is in neither, or if something of somebody else is gone."""
        existing = self.existing()
        entries = {(one.api, one.zone, one.name) for one in ledger.read_ledger()}
        ours = {full: row for full, row in existing.items() if full not in self.others}
        names = {(key[0], key[2]) for key in entries}
        for full, (place, state) in ours.items():
            # A template is global, and a policy is of a region.
            is_known = place in entries if "zone" in full else (place[0], place[2]) in names
            assert is_known, f"{full} is {state}, and not in the ledger: {entries}"
        listed = self.listed()
        for full, (place, state) in existing.items():
            if state in ("ACTIVE", "RUNNING", "PROVISIONING", "STAGING"):
                assert listed[place]["billed"], f"{full} is {state}: {listed[place]}"
        assert self.others <= {*existing}, self.others - {*existing}


@contextlib.contextmanager
def living(folder: Path, chance: random.Random, zones: list[str]) -> Iterator[Day]:
    """Run both services and the process of the commands."""
    clock = FileClock(folder / "clock")
    clock.set(fake_cloud.BEGINS)
    killer = Killer(folder / "pid", chance)
    cloud = DayCloud(clock=clock, zones=zones, killer=killer)  # type: ignore[arg-type]
    compute = DayCompute(clock=clock, killer=killer)  # type: ignore[arg-type]
    with fake_cloud.serving(cloud), fake_compute.serving(compute):
        day = Day(folder, cloud, compute, killer)
        try:
            yield day
        finally:
            day.end()

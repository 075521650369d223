"""Run the self-check of a slice from this machine, with ssh, gcloud, Slurm and the like.

The hosts run nothing of this program but the probe's zip, which is sent with the command.
"""

from __future__ import annotations

import importlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tpustarter.checking.machine_check import Event, MachineCheckOptions, PlanMade
from tpustarter.checking.plan.check_request import CheckRequest
from tpustarter.checking.plan.framework_plan import FrameworkPlan
from tpustarter.checking.results.results import SliceHostFields
from tpustarter.checking.run.runner import LOG_TAIL_CHARACTERS, sort_checks
from tpustarter.core.json_values import as_object
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.core.redact import Redactor
from tpustarter.machine import frameworks, generations
from tpustarter.running import probe_archive
from tpustarter.running.process import ProbeGoneEvent, ProcessEvent, parse_event
from tpustarter.slices.host_states import HostStates
from tpustarter.slices.slice_check import LESSON, SliceCheck, SliceRequest, check_command_fields
from tpustarter.slices.slice_results import SliceResults
from tpustarter.slices.starting.launch_request import (
    EndReason,
    HostCommand,
    HostEnded,
    HostLine,
    HostStage,
    LaunchRequest,
    keep_archive,
)
from tpustarter.slices.starting.running_commands import RunningCommands
from tpustarter.text import phrases

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tpustarter.probe.child import Command

CLOSE_S = 15.0
"""Seconds that the hosts have to exit by themselves after host 0's last event."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """The program that starts the run, and the user's options for it."""

    name: str
    hosts: tuple[str, ...] = ()
    count: int | None = None
    port: int = 8476
    python: str = "python3"
    options: Mapping[str, str]

    def build_commands(self, archive: Path) -> tuple[HostCommand, ...]:
        """Return the commands that start a zip on every host, without running them.

        Raises:
            Problem: The engine lacks something, such as the host names.
        """
        module = importlib.import_module(f"tpustarter.slices.starting.{self.name}_launcher")
        return module.build_commands(
            LaunchRequest(
                archive=archive,
                python=self.python,
                hosts=self.hosts,
                count=self.count,
                port=self.port,
                options=self.options,
            )
        )


class RemoteEventSource:
    """The events of host 0, read from the output of the commands that started the hosts."""

    def __init__(self, commands: Sequence[HostCommand], folder: Path, redact: Redactor) -> None:
        self._unreached: dict[int, str] = {}
        """Why a host will never arrive, keyed by host number."""
        self._failing: dict[int, str] = {}
        """Why a host that is still trying has not reached host 0 yet, keyed by host number."""
        self._has_stopped_waiting = False
        """True once host 0 has stopped waiting for other hosts."""
        self.tail: list[str] = []
        """Host 0's last output lines that are not events."""
        self.hosts = HostStates(commands)
        self.ended_early: HostEnded | None = None
        """The end of host 0, or of the one command for all hosts."""
        self._started = RunningCommands(commands, folder)
        self._events = self._started.events()
        self._redact = redact
        self._is_stopped = False

    @property
    def unreached(self) -> dict[int, str]:
        """Reasons why hosts did not arrive, keyed by host number."""
        return {**self._failing, **self._unreached}

    def read(self, timeout_s: float) -> ProcessEvent | None:  # noqa: ARG002  the commands set the pace
        """Return the next event of host 0, or None after about a second without any output.

        `timeout_s` is ignored.
        """
        if self._is_stopped:
            return {"event": "interrupted"}
        for item in self._events:
            if item is None:
                return None
            event = self._take_line(item) if isinstance(item, HostLine) else self._take_end(item)
            if event is not None:
                return self._explain_gone(event)
        return self._explain_gone(_gone_event(1))

    def _explain_gone(self, event: ProcessEvent) -> ProcessEvent:
        """Return the event, or `interrupted` if it is host 0's end after a stop."""
        is_ours = self._is_stopped and event["event"] == "gone"
        return {"event": "interrupted"} if is_ours else event

    def send(self, command: Command) -> None:
        """Send nothing; the hosts got their checks with the probe."""

    def interrupt(self) -> None:
        """Stop every host; safe in any thread and signal handler."""
        self._is_stopped = True
        self._started.stop()

    def close(self) -> None:
        """Wait until every host has ended, and stop those that have not after `CLOSE_S`."""
        for _ in self.finish():
            pass

    def finish(self) -> Iterator[None]:
        """Wait as `close` does, yielding to the caller at least once a second."""
        deadline = time.monotonic() + CLOSE_S
        for item in self._events:  # yields at least once a second
            if isinstance(item, HostLine):
                self._take_line(item)
            elif item is not None:
                self._take_end(item)
            if not self._is_stopped and time.monotonic() > deadline:
                self._is_stopped = True
                self._started.stop()  # once: a second call would not wait for the hosts
            yield

    def _take_line(self, line: HostLine) -> ProcessEvent | None:
        if not line.is_event:
            if line.host in (None, 0):
                self.tail = [*self.tail[-50:], line.text]
            return None
        event = parse_event(line.text.encode())
        if event["event"] == "garbage":
            return None
        named_sender = as_object(event).get("from")
        sender = line.host if named_sender is None else named_sender
        if isinstance(sender, int):
            self.hosts.follow(sender, event)
        if sender == 0:
            self._has_stopped_waiting |= event["event"] == "arrived"
            if event["event"] == "started" or event["event"] == "ended":
                return None  # sent by the probe's supervisor
            return event
        if event["event"] == "trying" and isinstance(sender, int):
            self._failing[sender] = self._redact.redact_text(str(event.get("detail")))
            self.hosts.delay(sender, self._failing[sender])
        elif event["event"] == "not-reached" or event["event"] == "no-place":
            why = self._redact.redact_text(str(event.get("detail")))
            self._add_reason(sender, why)
            self.hosts.lose(sender, why)
        return None

    def _take_end(self, ended: HostEnded) -> ProcessEvent | None:
        words = self._redact.redact_text(
            "; ".join(line for line in ended.tail[-2:] if line.strip())
        )
        why = f"{ended.what}: {words}" if words else ended.what
        self._add_reason(ended.host, why)
        if ended.stage < HostStage.RUNNING and ended.ending is not EndReason.STOPPED:
            self.hosts.lose(ended.host, why)
        else:
            is_early = ended.is_unreached and ended.ending is EndReason.STOPPED
            self.hosts.end(ended.host, "was not started" if is_early else why)
        if ended.host:
            return None
        self.ended_early = ended
        return _gone_event(ended.code)

    def _add_reason(self, host: object, text: str) -> None:
        if not isinstance(host, int):
            return
        self._unreached.setdefault(host, text)
        if host and not self._has_stopped_waiting:  # else host 0 would wait until the timeout
            line = json.dumps({"do": "unreachable", "host": host})
            self._started.tell(0, f"{line}\n".encode())


def _gone_event(code: int | None) -> ProbeGoneEvent:
    return {"event": "gone", "code": code, "signal": None, "left": [], "exit": None}


class RemoteSliceCheck(SliceCheck):
    """A run of the self-check on all hosts of a slice, which need not include this machine."""

    def __init__(
        self,
        request: CheckRequest,
        where: SliceRequest,
        engine: Engine,
        **options: Unpack[MachineCheckOptions],
    ) -> None:
        super().__init__(request, where, **options)
        self._engine = engine
        self._commands: tuple[HostCommand, ...] = ()

    def prepare(self) -> tuple[HostCommand, ...]:
        """Write the probe's zip, and return the commands that start it without running them.

        Raises:
            Problem: The engine lacks something, such as the host names.
        """
        checks = [check_command_fields(one, {}) for one in sort_checks(self.list_shared_checks())]
        request = {
            "devices": self._request.devices,
            "minutes": self._request.minutes,
            "env": {"JAX_PLATFORMS": "cpu"} if self._request.devices else {},
            "slice": {"wait_s": self._where.wait_s, "checks": checks},
        }
        with tempfile.TemporaryDirectory() as folder:
            built = Path(folder) / "probe.pyz"
            probe_archive.build_probe_archive(built, self._checks_folder, request)
            path = keep_archive("probe-all-hosts", built.read_bytes())
        self._commands = self._engine.build_commands(path)
        return self._commands

    def _groups(self, folder: Path) -> Iterator[Event]:
        checks = sort_checks(self.list_shared_checks())
        self._planned = len(self.checks)
        source = RemoteEventSource(self._commands or self.prepare(), folder, self._redact)
        problem: Problem | None = None
        try:
            try:
                yield from self._read_events(
                    source,
                    lambda _: "\n".join(source.tail)[-LOG_TAIL_CHARACTERS:],
                    checks,
                    {"minutes": self._request.minutes},
                )
            except Problem as early:
                problem = early  # raised once the hosts have ended
            for _ in source.finish():
                yield from self._see_hosts()
            yield from self._see_hosts()
        finally:
            self._source = None
            source.close()
        if problem:
            raise problem

    def _see_hosts(self) -> Iterator[Event]:
        if isinstance(self._source, RemoteEventSource):  # and not a test's
            yield from self._source.hosts.take_changes()

    def _take(
        self, event: ProcessEvent, results: SliceResults, read_log: Callable[[int], str]
    ) -> Iterator[Event]:
        source = self._source
        if isinstance(source, RemoteEventSource):  # and not a test's
            if not self.run.target and event["event"] in ("gone", "interrupted"):
                raise self._explain_early_end(source, event)
            results.unreached = source.unreached
        yield from super()._take(event, results, read_log)

    def _arrive(self) -> Iterator[Event]:
        first = self.run.hosts[0]
        is_virtual = first["platform"] == "cpu" and (first["devices"] or 1) > 1
        self.run.target = {
            "python": self._engine.python,
            "shown": self._engine.python,
            "why": f"--start {self._engine.name}",
            "python_version": first["python_version"],
            "frameworks": first["frameworks"],
            "platform": first["platform"],
            "kind": first["platform"],
            "where": _describe(first, self.run.hosts),
            "devices": first["devices"],
            "planned": first["devices"],
            "virtual": is_virtual,
            "env": {},
            "left_out": [],
            "settings": [*frameworks.list_behaviour_variables("jax", first["settings"])],
            "others": [],
        }
        self.run.host = {"chips": first["chips"] or 0, "generation": first["generation"]}
        yield from super()._arrive()
        plan = FrameworkPlan(
            first["platform"],
            first["devices"],
            is_virtual,
            first["generation"],
            first["chips"] or 0,
            where_parts=(self.run.target.get("where", ""),),
        )
        yield PlanMade(self.run, plan)
        yield from self._leave_out()

    def _explain_early_end(self, source: RemoteEventSource, event: ProcessEvent) -> Problem:
        if event["event"] == "interrupted":
            return Problem("stopped before any host had arrived", code=ExitCode.INTERRUPTED)
        ended = source.ended_early
        name = ended.command.name if ended else ""
        host = f"host 0 ({name})" if name else "the run"
        what = source.unreached.get(0) or (ended.what if ended else "ended")
        hint = "run its command in a shell, and look at what it prints"
        return Problem(f"{host} {what}", hint=hint, read=LESSON, code=ExitCode.INCONCLUSIVE)


def _describe(first: SliceHostFields, hosts: Sequence[SliceHostFields]) -> str:
    if first["platform"] == "cpu":
        count = sum(one["devices"] or 1 for one in hosts)
        return phrases.format_count(count, "virtual CPU device")
    titles: dict[str | None, str] = {
        one.name: one.title.split(" (")[0] for one in generations.GENERATIONS
    }
    return titles.get(first["generation"]) or str(first["platform"])

"""The self-check of a whole slice: the same command on every host, and one verdict.

Each host runs its own probe. Host 0's probe gathers all results; the others follow it and exit with
the run's exit code.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tpustarter.checking.machine_check import Event, MachineCheck, MachineCheckOptions, PlanMade
from tpustarter.checking.plan.check_request import CheckRequest
from tpustarter.checking.results import headline, verdict
from tpustarter.checking.run.outcomes import make_process_ending, result_without_findings
from tpustarter.checking.run.probe_session import ProbeSession, start_probe
from tpustarter.checking.run.runner import (
    LOG_TAIL_CHARACTERS,
    TICK_S,
    CheckEnded,
    CheckStarted,
    sort_checks,
    time_limit_s,
)
from tpustarter.core import content
from tpustarter.core.content import Check
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.core.redact import drop_incomplete_line
from tpustarter.probe.slice.messages import (
    CheckFields,
    PortTakenEvent,
    UnknownPositionEvent,
    UnreachedEvent,
)
from tpustarter.running.process import ProcessEvent
from tpustarter.slices import host_facts
from tpustarter.slices.slice_results import CHECKS_BEFORE_CONNECTION, SliceResults
from tpustarter.text import phrases

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tpustarter.probe.child import Command

FRAMEWORKS = ("host", "jax")
"""Frameworks whose checks run on all hosts."""
LESSON = "slices/run-everywhere"
OWN_PROCESS = "it needs a process of its own: `tpustarter check --this-host {}` on each host"
PATIENCE_S = 60.0
"""Seconds beyond its time limit after which host 0's probe is ended."""
VERDICT_S = 15.0
"""Longest wait for the other hosts to receive the verdict."""


NOT_REACHED = {
    "refused": "start the command on host 0 too; if it runs there, it uses another port",
    "unknown-name": "give host 0 by a name or an address that every host knows: `--coordinator`",
    "something-else": "another program has that port on host 0: end it, or give another port",
    "network": "look at the route and the firewall between this host and host 0",
    "no-answer": "a firewall drops what is sent to that port, or the address is an old one",
}
"""Hints for the case that host 0 was not reached, keyed by the probe's reason."""


class EventSource(Protocol):
    """The source of host 0's events: a probe on this host, or the commands that start the hosts."""

    def read(self, timeout_s: float) -> ProcessEvent | None:
        """Return the next event, or None if none came in time."""
        ...

    def send(self, command: Command) -> None:
        """Send a command to the probe."""
        ...

    def interrupt(self) -> None:
        """Make `read` return an `interrupted` event; safe in any thread and signal handler."""
        ...


@dataclass(frozen=True)
class SliceRequest:
    """The user's request for a run on all hosts."""

    coordinator: str | None = None
    """Host 0's address as `NAME:PORT`; None if JAX detects it."""
    hosts: int | None = None
    host: int | None = None
    wait_s: float = 120.0
    """Longest wait for the other hosts."""


@dataclass(frozen=True)
class OtherHostEnd:
    """The end of a run on a host other than host 0, which has the report."""

    host: int
    hosts: int
    code: int
    text: str
    """The run's headline, or why this host has none."""

    @property
    def sentence(self) -> str:
        """The one line that this host prints."""
        return f"host {self.host} of {self.hosts}: {self.text or 'host 0 has the report'}"


class _Place(NamedTuple):
    host: int = -1
    hosts: int = 0

    @property
    def leads(self) -> bool:
        """True for host 0, and while the host's number is unknown."""
        return self.host <= 0


class SliceCheck(MachineCheck):
    """One host's part in a self-check on all hosts of a slice."""

    def __init__(
        self, request: CheckRequest, where: SliceRequest, **options: Unpack[MachineCheckOptions]
    ) -> None:
        super().__init__(replace(request, all_hosts=True, framework=None), **options)
        self._where = where
        self.host_end: OtherHostEnd | None = None
        """The end of the run on this host; None on host 0."""
        names = {check.id for check in self.checks}
        self.checks = [check for check in self.checks if check.framework in FRAMEWORKS]
        self.checks += [
            check
            for check in content.read_checks(options.get("checks"))
            if check.id in CHECKS_BEFORE_CONNECTION and check.id not in names
        ]
        self._source: EventSource | None = None
        self._place = _Place()

    def stop(self, number: int = signal.SIGINT) -> None:
        """End the run on this host; if it is host 0, JAX then ends the others."""
        super().stop(number)
        if self._source and not self.is_over:
            self._source.interrupt()

    def list_shared_checks(self) -> list[Check]:
        """Return the checks that run on all hosts, each only after every host has arrived."""
        return [_after_arrival(check) for check in self.checks if not check.own_process]

    def _groups(self, folder: Path) -> Iterator[Event]:
        session, run_plan = self._session(folder), self._plan()
        together = self.list_shared_checks()
        self._tell(session, run_plan, "jax")
        runner = self._start(session)
        try:
            versions = runner.read_versions()
        finally:
            runner.close()
        self._planned = len(self.checks)
        self._describe(run_plan, versions, {"host": [], "jax": together}, [])
        blocked = run_plan.blocked or self._unusable("jax")
        yield PlanMade(self.run, run_plan)
        if blocked:
            raise Problem(blocked.what, hint=blocked.hint or None, code=blocked.code)
        yield from self._leave_out()
        with contextlib.ExitStack() as stack:
            if run_plan.platform != "cpu":
                from tpustarter.running import lease

                held = lease.hold_device_lease("tpustarter check --all-hosts", self._machine)
                session.lease = stack.enter_context(held)
            yield from self._run_here(session, sort_checks(together))

    def _leave_out(self) -> Iterator[Event]:
        for check in self.checks:
            if check.own_process:
                detail = OWN_PROCESS.format(check.id)
                yield CheckEnded(result_without_findings(check, "skip", "not-applicable", detail))

    def _run_here(self, session: ProbeSession, checks: list[Check]) -> Iterator[Event]:
        probe, log = start_probe(session)
        try:
            probe.send(
                {
                    "do": "slice",
                    "coordinator": self._where.coordinator,
                    "hosts": self._where.hosts,
                    "host": self._where.host,
                    "wait_s": self._where.wait_s,
                    "checks": [check_command_fields(check, session.target) for check in checks],
                }
            )
            yield from self._read_events(probe, log.read_since, checks, session.target)
        finally:
            self._source = None
            probe.end()
            probe.close()
            log.close()

    def _read_events(
        self,
        source: EventSource,
        read_log: Callable[[int], str],
        checks: list[Check],
        target: Mapping[str, object],
    ) -> Iterator[Event]:
        self._source = source
        if self.run.stopped_by is not None:  # stop() was called before there was a source
            source.interrupt()
        results = SliceResults(checks, self.run, self._redact)
        while not (results.is_over or self.host_end):
            event = source.read(TICK_S)
            yield from self._see_hosts()
            if event is not None:
                yield from self._take(event, results, read_log)
            elif self._place.leads and (late := self._explain_late(results, target)):
                yield from results.lose("error", "timeout", late, self._tail(read_log))
            else:
                yield from results.waiting()
        if results.is_complete:
            self._tell_verdict(source)

    def _see_hosts(self) -> Iterator[Event]:
        """Yield the hosts whose state has changed, if this program started them."""
        yield from ()

    def _take(
        self, event: ProcessEvent, results: SliceResults, read_log: Callable[[int], str]
    ) -> Iterator[Event]:
        match event["event"]:
            case "placed":
                self._place = _Place(int(event["host"]), int(event["hosts"]))
            case "no-place" | "not-reached" | "port-taken":
                raise _explain(event)
            case "followed":
                text = self._redact.redact_text(str(event["headline"]))
                self.host_end = OtherHostEnd(*self._place, int(event["code"]), text)
            case "interrupted":
                yield from results.lose("notrun", "interrupted", "stopped while it ran", "")
            case "lost":
                detail = self._redact.redact_text(str(event["detail"]))
                yield from results.lose("error", "lost", detail, self._tail(read_log))
            case "gone":
                _, reason, detail, _ = make_process_ending(event)
                if not self._place.leads:
                    text = f"host 0 is gone, or the connection to it: {detail}"
                    self.host_end = OtherHostEnd(*self._place, ExitCode.INCONCLUSIVE, text)
                yield from results.lose("error", reason or "lost", detail, self._tail(read_log))
            case _ if not self._place.leads:
                yield from self._follow_along(event, results)
            case _:
                yield from results.follow(event)
                if event["event"] == "arrived":
                    yield from self._arrive()

    def _follow_along(self, event: ProcessEvent, results: SliceResults) -> Iterator[Event]:
        if event["event"] == "progress" and (check := results.left.get(str(event.get("id")))):
            yield CheckStarted(check)

    def _explain_late(self, results: SliceResults, target: Mapping[str, object]) -> str:
        check = results.current
        limit_s = (time_limit_s(check, target) if check else self._where.wait_s) + PATIENCE_S
        if results.seconds <= limit_s:
            return ""
        last = f", {results.progress}" if results.progress else ""
        return f"no verdict within {limit_s:g} s{last}"

    def _tail(self, read_log: Callable[[int], str]) -> str:
        return self._redact.redact_text(drop_incomplete_line(read_log(0)))[-LOG_TAIL_CHARACTERS:]

    def _arrive(self) -> Iterator[Event]:
        """Describe the devices of all hosts once they are known, and yield the resulting events."""
        hosts, target = self.run.hosts, self.run.target
        host_facts.add_differences(hosts, self.run.results)
        counts = [count for one in hosts if (count := one["devices"]) is not None]
        target["planned"] = sum(counts) if len(counts) == len(hosts) else None
        chips = sum(one["chips"] or 0 for one in hosts)
        if target.get("platform") == "tpu" and chips:
            kind = target.get("where", "").partition(",")[0]
            target["where"] = f"{kind}, {phrases.format_count(chips, 'chip')}"
        yield from ()

    def _tell_verdict(self, source: EventSource) -> None:
        host_facts.add_differences(self.run.hosts, self.run.results)
        code = verdict.exit_code(self.run)
        source.send(
            {"do": "verdict", "code": int(code), "headline": headline.format_headline(self.run)}
        )
        deadline = time.monotonic() + VERDICT_S
        while (left_s := deadline - time.monotonic()) > 0:
            event = source.read(left_s)
            if event and event["event"] in ("followed", "gone", "interrupted"):
                return


def _after_arrival(check: Check) -> Check:
    if check.framework == "host":
        return check
    return replace(check, after=(*CHECKS_BEFORE_CONNECTION, *check.after))


def check_command_fields(check: Check, target: Mapping[str, object]) -> CheckFields:
    """Return the fields of a check that are sent to the probe on every host."""
    return {
        "id": check.id,
        "framework": check.framework,
        "needs": check.needs,
        "timeout_s": time_limit_s(check, target),
        "after": [*check.after],
    }


def _explain(event: UnknownPositionEvent | UnreachedEvent | PortTakenEvent) -> Problem:
    detail = str(event["detail"])
    match event["event"]:
        case "no-place":
            hint = (
                "give `--coordinator HOST:PORT --hosts N --host I`, the same but for I everywhere"
            )
            return Problem(detail, hint=hint, read=LESSON, code=ExitCode.USAGE)
        case "port-taken":
            hint = f"`ss -ltnp 'sport = :{event.get('port')}'` shows which process has it"
            return Problem(detail, hint=hint, read=LESSON, code=ExitCode.BUSY)
        case _:
            hint = NOT_REACHED.get(str(event.get("reason")), NOT_REACHED["no-answer"])
            return Problem(detail, hint=hint, read=LESSON, code=ExitCode.INCONCLUSIVE)

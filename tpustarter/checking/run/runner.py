"""Runs checks in probes and judges their events, as one stream for every front end.

A probe runs one check at a time, so order, timeouts and `AFTER` are decided only in this module. A
check that crashes or hangs affects only itself: the next one gets a fresh process.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace

from tpustarter.checking.results.results import BlockedFramework, FindingFields, Result
from tpustarter.checking.run import probe_events
from tpustarter.checking.run.outcomes import (
    Ending,
    judge_check,
    make_ignored_stop_ending,
    make_process_ending,
    make_timeout_ending,
    parse_end_event,
    result_without_findings,
)
from tpustarter.checking.run.probe_events import PythonVersions
from tpustarter.checking.run.probe_session import (
    ProbeSession,
    explain_unusable_python,
    send_target,
    start_probe,
)
from tpustarter.core.content import Check
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.core.redact import drop_incomplete_line
from tpustarter.machine import reached_limits
from tpustarter.probe.commands import RunCheckCommand
from tpustarter.running.process import CappedLog, Probe, ProbeGoneEvent, ProcessEvent

TICK_S = 1.0
"""Seconds between `CheckWaiting` events."""
START_S = 60.0
"""Seconds to wait for the first event of a fresh interpreter."""
FINISH_S = 30.0
"""Seconds to wait for a check that was asked to end with its findings so far."""
ENDING = "ending by itself, with what it has shown"
"""The progress shown for such a check while it ends."""
MAX_EVENTS = 10_000
"""Maximum number of events per check: findings are facts, not a stream."""
LOG_TAIL_CHARACTERS = 6000


@dataclass(frozen=True)
class CheckStarted:
    """A check was started."""

    check: Check


@dataclass(frozen=True)
class CheckWaiting:
    """A check is still running; sent once a second."""

    check: Check
    seconds: float
    progress: str = ""
    """The check's own description of its progress."""


@dataclass(frozen=True)
class FindingReported:
    """A check reported a finding."""

    id: str
    finding: FindingFields


@dataclass(frozen=True)
class CheckEnded:
    """A check ended, or will not run."""

    result: Result


class CheckRunner:
    """Runs a session's checks one after the other; `stop` ends the run from any thread."""

    def __init__(self, session: ProbeSession) -> None:
        self._session = session
        self._probe: Probe | None = None
        self._log: CappedLog | None = None
        self._with_settings = True
        """True if the process has the user's settings in its environment."""
        self._changed_by_settings = 0
        self.stopped_by: int | None = None
        self._stops = 0

    @property
    def is_warm(self) -> bool:
        """Return whether a process is running and waiting for a check."""
        return self._probe is not None

    def stop(self, number: int = signal.SIGINT) -> None:
        """End the run; safe in any thread and signal handler.

        A soak check is first asked to end by itself; a second call ends it.
        """
        self.stopped_by = number
        self._stops += 1
        probe = self._probe
        if probe:
            probe.interrupt()

    def start_early(self) -> None:
        """Start the process early. Its target may change until `read_versions` is called."""
        self._ready({})

    def read_versions(self) -> PythonVersions:
        """Return the versions of the interpreter under test and its frameworks.

        Raises:
            Problem: It is not a Python, or is too old.
        """
        is_warm = self.is_warm
        probe = self._ready({})
        if is_warm:
            send_target(probe, self._session)
        probe.send({"do": "versions"})
        event = probe.read(START_S)
        found = (
            probe_events.parse_versions(event) if event and event["event"] == "versions" else None
        )
        if found is not None:
            return found
        gone = self._end(gently=False)
        if self.stopped_by is not None:
            interrupted = self.stopped_by == signal.SIGINT
            code = ExitCode.INTERRUPTED if interrupted else ExitCode.TERMINATED
            raise Problem(
                "stopped before anything was run", hint="run the command again", code=code
            )
        waited_s = START_S if event is None else None
        raise explain_unusable_python(self._session.python, gone, self._tail(0), waited_s=waited_s)

    def run(
        self, checks: list[Check]
    ) -> Iterator[CheckStarted | CheckWaiting | FindingReported | CheckEnded]:
        """Run checks in the order set by `AFTER`, yielding events, one `CheckEnded` for each."""
        try:
            for check in sort_checks(checks):
                result = self._without_running(check)
                if result is None:
                    yield CheckStarted(check)
                    result = yield from self._judge(check)
                self._session.results[check.id] = result
                yield CheckEnded(result)
        finally:
            self.close()

    def close(self) -> None:
        """End the process and wait for it to exit, with a timeout."""
        self._end(gently=self.stopped_by is None)

    def _without_running(self, check: Check) -> Result | None:
        if self.stopped_by is not None:
            return result_without_findings(check, "notrun", "interrupted")
        if check.broken:
            return result_without_findings(check, "error", "load", check.broken)
        before = self._session.results
        blockers = [
            name for name in check.after if name in before and blocks_dependents(before[name])
        ]
        if blockers:
            return result_without_findings(
                check, "skip", "dependency", f"after {describe_blockers(blockers, before)}"
            )
        return None

    def _judge(self, check: Check) -> Generator[CheckWaiting | FindingReported, None, Result]:
        names = self._session.settings
        if not names:
            return (yield from self._run(check))
        from tpustarter.checking.run import behaviour_variables

        result = yield from self._run_unseen(check)
        if not self._with_settings:
            result = behaviour_variables.add_variables_finding(result, names)
        elif behaviour_variables.may_be_caused_by_variables(result) and self.stopped_by is None:
            self._restart(with_settings=False)
            without = yield from self._run_unseen(check)
            self._changed_by_settings += behaviour_variables.is_caused_by_variables(result, without)
            result = behaviour_variables.merge_results(result, without, names)
            if self._changed_by_settings < behaviour_variables.MOST:
                self._restart(with_settings=True)
        for finding in result.findings:
            yield FindingReported(check.id, finding)
        return result

    def _run_unseen(self, check: Check) -> Generator[CheckWaiting, None, Result]:
        run = self._run(check)
        try:
            while True:
                event = next(run)
                if isinstance(event, CheckWaiting):
                    yield event
        except StopIteration as end:
            return end.value

    def _restart(self, *, with_settings: bool) -> None:
        self._end()
        self._with_settings = with_settings

    def _run(self, check: Check) -> Generator[CheckWaiting | FindingReported, None, Result]:
        session = self._session
        fresh = session.isolate or check.own_process
        if fresh:
            self._end()
        try:
            probe = self._ready(check.env)
        except Problem as problem:
            return result_without_findings(check, "error", "protocol", problem.full_text)
        start = self._log.size if self._log else 0
        began = time.monotonic()
        findings: list[FindingFields] = []
        end = yield from self._follow(probe, check, findings)
        seconds = time.monotonic() - began
        log = self._tail(start)
        if fresh or end[0] not in ("pass", "skip"):
            # The process is broken or no longer needed, so the next check gets a fresh one.
            gone = self._end(gently=end[0] == "pass")
            if gone and gone["left"]:
                status, reason, detail, ran_on = end
                end = (status, reason, f"{detail}; the kernel kept {gone['left']}", ran_on)
        if end[1] == "crashed" and (limit := reached_limits.find_limit_in_text(log)):
            end = (end[0], end[1], f"{end[2]}; {limit.what}", end[3])
        result = judge_check(check, findings, end)
        return replace(result, seconds=seconds, log="" if result.status == "pass" else log)

    def _follow(
        self, probe: Probe, check: Check, findings: list[FindingFields]
    ) -> Generator[CheckWaiting | FindingReported, None, Ending]:
        redact, limit_s = self._session.redact, time_limit_s(check, self._session.target)
        command: RunCheckCommand = {
            "do": "check",
            "id": check.id,
            "framework": check.framework,
            "needs": check.needs,
            "timeout_s": limit_s,
        }
        if (store := self._session.program_store) and not check.fresh:
            command["program_store"] = str(store)
        probe.send(command)
        began = time.monotonic()
        tick_s, progress, finishing, count, has_begun = TICK_S, "", False, 0, False
        while count < MAX_EVENTS:
            event = None
            while event is None:
                passed_s = time.monotonic() - began
                if passed_s >= tick_s:
                    yield CheckWaiting(check, passed_s, ENDING if finishing else progress)
                    tick_s = passed_s + TICK_S
                event = probe.read(max(0, min(tick_s, limit_s) - passed_s))
                if event is None and passed_s >= limit_s:
                    return (
                        make_ignored_stop_ending(FINISH_S)
                        if finishing
                        else make_timeout_ending(limit_s)
                    )
            count += event["event"] != "progress"  # the timeout bounds these
            if event["event"] == "finding":
                finding = probe_events.parse_finding(redact.redact_value(event.get("finding")))
                if finding is None:
                    return ("error", "protocol", "sent a finding that lacks something", None)
                findings.append(finding)
                yield FindingReported(check.id, findings[-1])
            elif event["event"] == "progress":
                progress = redact.redact_text(str(event.get("text")))
            elif event["event"] == "interrupted" and check.level == "soak" and self._stops < 2:
                probe.send({"do": "finish"})  # it reports findings for the time it ran
                finishing, limit_s = True, time.monotonic() - began + FINISH_S
                tick_s = 0.0  # shows the user at once that the stop was received
            elif event["event"] != "start":
                return self._ending(event, check)
            elif (
                not has_begun
            ):  # the child starts its timer here too, so it prints its stacks before the timeout
                began, has_begun = time.monotonic(), True
        return ("error", "protocol", f"told more than {MAX_EVENTS} events", None)

    def _ending(self, event: ProcessEvent, check: Check) -> Ending:
        if event["event"] == "end" and event.get("id") == check.id:
            self._session.stored_programs += probe_events.parse_count(event.get("stored_programs"))
            return parse_end_event(event, self._session.redact)
        if event["event"] == "interrupted":
            return ("notrun", "interrupted", "stopped while it ran", None)
        if event["event"] == "gone":
            return make_process_ending(event)
        text = self._session.redact.redact_text(str(event.get("text", event)))
        return ("error", "protocol", f"wrote something that is not an event: {text[:80]!r}", None)

    def _ready(self, extra: Mapping[str, str]) -> Probe:
        if self._probe:
            return self._probe
        self._probe, self._log = start_probe(
            self._session, extra, with_settings=self._with_settings
        )
        if self.stopped_by is not None:
            self._probe.interrupt()  # stop() came before the process existed
        return self._probe

    def _end(self, *, gently: bool = True) -> ProbeGoneEvent | None:
        probe = self._probe
        if probe is None:
            return None
        try:
            if not gently:
                probe.end()
            gone = probe.close()  # `stop` can reach it until it is closed
        finally:
            self._probe = None
        if self._log:
            self._log.close()
        return gone

    def _tail(self, position: int) -> str:
        text = self._log.read_since(position) if self._log else ""
        # Redact before cutting, because part of a secret would not be recognised.
        if len(text) > 2 * LOG_TAIL_CHARACTERS:
            text = drop_incomplete_line(text[-2 * LOG_TAIL_CHARACTERS :])
        return self._session.redact.redact_text(text)[-LOG_TAIL_CHARACTERS:]


def time_limit_s(check: Check, target: Mapping[str, object]) -> float:
    """Return a check's timeout in seconds; the requested minutes are added for `soak`."""
    minutes = target.get("minutes") if check.level == "soak" else None
    return check.timeout_s + 60 * (minutes if isinstance(minutes, int | float) else 0)


def skip_all_checks(checks: list[Check], blocked: BlockedFramework) -> Iterator[CheckEnded]:
    """Yield a skip for each check of a framework that is not started."""
    for check in sort_checks(checks):
        yield CheckEnded(result_without_findings(check, "skip", blocked.reason, blocked.what))


def blocks_dependents(result: Result) -> bool:
    """Return whether a result blocks the checks that name its check in `AFTER`."""
    if result.status == "skip":
        return result.reason in ("dependency", "missing-resource", "no-answer")
    return result.status in ("fail", "error", "notrun")


def describe_blockers(names: list[str], results: Mapping[str, Result]) -> str:
    """Describe the checks that block another check, with their outcomes."""
    words = {
        "fail": "failed",
        "error": "had no verdict",
        "skip": "was skipped",
        "notrun": "was not run",
    }
    return ", ".join(f"{name} {words[results[name].status]}" for name in names)


def sort_checks(checks: list[Check]) -> list[Check]:
    """Return checks in their order, but each after those that it names in `AFTER`.

    Checks that need their own process come last. Each of them ends the warm process, and importing
    a framework again may take longer than a check.
    """
    by_id = {check.id: check for check in checks}
    done: dict[str, Check] = {}

    def visit(check: Check, path: tuple[str, ...]) -> None:
        for name in check.after:
            if name in by_id and name not in done and name not in path:
                visit(by_id[name], (*path, check.id))
        done.setdefault(check.id, check)

    for check in sorted(checks, key=lambda one: one.own_process):
        visit(check, ())
    return list(done.values())

"""Runs checks in probes and judges what they say: one stream of events for every front end.

A probe serves one check at a time, so that order, time-outs and `AFTER` are decided here alone.
A check that crashes or hangs costs only itself: the next one gets a fresh process.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tpustarter.checking import protocol
from tpustarter.checking.outcomes import (
    Ending,
    did_not_stop,
    ended,
    judge,
    outcome,
    process_ending,
    timed_out,
)
from tpustarter.checking.results import Blocked, Result
from tpustarter.checking.session import Session, python_problem, start, tell
from tpustarter.content import Check
from tpustarter.machine import limits
from tpustarter.problem import ExitCode, Problem
from tpustarter.running.process import CappedLog, Event, Probe

TICK_S = 1.0
"""Seconds between two `Waiting` events."""
START_S = 60.0
"""Longest wait for a fresh interpreter's first word."""
FINISH_S = 30.0
"""Longest wait for a check that was told to end with what it has shown so far."""
ENDING = "ending by itself, with what it has shown"
"""What such a check is said to do until then."""
MAX_EVENTS = 10_000
"""Most events one check may tell: findings are facts, not a stream."""
LOG_TAIL_CHARACTERS = 6000


@dataclass(frozen=True)
class Started:
    """A check was started."""

    check: Check


@dataclass(frozen=True)
class Waiting:
    """A check is still running; told once a second."""

    check: Check
    seconds: float
    progress: str = ""
    """How far it says it has come."""


@dataclass(frozen=True)
class Seen:
    """A check told a finding."""

    id: str
    finding: dict[str, Any]


@dataclass(frozen=True)
class Ended:
    """A check ended, or will not be run."""

    result: Result


class Runner:
    """Runs checks of one session, one after the other; `stop` ends it from anywhere."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._probe: Probe | None = None
        self._log: CappedLog | None = None
        self._with_settings = True
        """Whether the process runs with the user's settings."""
        self._changed_by_settings = 0
        self.stopped_by: int | None = None
        """The signal that stopped the run, or None."""
        self._stops = 0

    @property
    def is_warm(self) -> bool:
        """Whether a process is up and waits for a check."""
        return self._probe is not None

    def stop(self, number: int = signal.SIGINT) -> None:
        """End the run; safe in any thread and signal handler.

        A check that soaks is told to end by itself, and ended when this is called again.
        """
        self.stopped_by = number
        self._stops += 1
        probe = self._probe
        if probe:
            probe.interrupt()

    def warm(self) -> None:
        """Start the process already: what it runs on may be known later, before `versions`."""
        self._ready({})

    def versions(self) -> dict[str, Any]:
        """Return Python and framework versions of the interpreter under test.

        Raises:
            Problem: it is no Python, or one that is too old.
        """
        is_warm = self.is_warm
        probe = self._ready({})
        if is_warm:
            tell(probe, self._session)
        probe.send({"do": "versions"})
        event = probe.read(START_S)
        found = protocol.versions(event) if event and event["event"] == "versions" else None
        if found is not None:
            return found
        gone = self._end(gently=False)
        if self.stopped_by is not None:
            interrupted = self.stopped_by == signal.SIGINT
            code = ExitCode.INTERRUPTED if interrupted else ExitCode.TERMINATED
            raise Problem(
                "stopped before anything was run", hint="run the command again", code=code
            )
        raise python_problem(self._session.python, gone, self._tail(0))

    def run(self, checks: list[Check]) -> Iterator[Started | Waiting | Seen | Ended]:
        """Run checks in the order of their `AFTER`; yields events, one `Ended` for each."""
        try:
            for check in in_order(checks):
                result = self._without_running(check)
                if result is None:
                    yield Started(check)
                    result = yield from self._judge(check)
                self._session.results[check.id] = result
                yield Ended(result)
        finally:
            self.close()

    def close(self) -> None:
        """Let the process go, waiting for it in bounded time."""
        self._end(gently=self.stopped_by is None)

    def _without_running(self, check: Check) -> Result | None:
        if self.stopped_by is not None:
            return outcome(check, "notrun", "interrupted")
        if check.broken:
            return outcome(check, "error", "load", check.broken)
        before = self._session.results
        blockers = [name for name in check.after if name in before and blocks(before[name])]
        if blockers:
            return outcome(check, "skip", "dependency", f"after {describe(blockers, before)}")
        return None

    def _judge(self, check: Check) -> Generator[Waiting | Seen, None, Result]:
        """Run a check, and where the user's settings may be why it fails, once more without."""
        names = self._session.settings
        if not names:
            return (yield from self._run(check))
        from tpustarter.checking import settings

        result = yield from self._run_unseen(check)
        if not self._with_settings:
            result = settings.left_out(result, names)
        elif settings.may_be_to_blame(result) and self.stopped_by is None:
            self._restart(with_settings=False)
            without = yield from self._run_unseen(check)
            self._changed_by_settings += settings.are_to_blame(result, without)
            result = settings.joined(result, without, names)
            if self._changed_by_settings < settings.MOST:
                self._restart(with_settings=True)
        for finding in result.findings:
            yield Seen(check.id, finding)
        return result

    def _run_unseen(self, check: Check) -> Generator[Waiting, None, Result]:
        """Run a check whose findings are shown later, once it is known which run counts."""
        run = self._run(check)
        try:
            while True:
                event = next(run)
                if isinstance(event, Waiting):
                    yield event
        except StopIteration as end:
            return end.value

    def _restart(self, *, with_settings: bool) -> None:
        """Have the next check run in a process with the user's settings, or without them."""
        self._end()
        self._with_settings = with_settings

    def _run(self, check: Check) -> Generator[Waiting | Seen, None, Result]:
        session = self._session
        fresh = session.isolate or check.own_process
        if fresh:
            self._end()
        try:
            probe = self._ready(check.env)
        except Problem as problem:
            return outcome(check, "error", "protocol", problem.what)
        start = self._log.size if self._log else 0
        began = time.monotonic()
        findings: list[dict[str, Any]] = []
        end = yield from self._follow(probe, check, findings)
        seconds = time.monotonic() - began
        log = self._tail(start)
        if fresh or end[0] not in ("pass", "skip"):
            # Broken or finished with: what comes next starts afresh.
            gone = self._end(gently=end[0] == "pass")
            if gone and gone["left"]:
                status, reason, detail, ran_on = end
                end = (status, reason, f"{detail}; the kernel kept {gone['left']}", ran_on)
        if end[1] == "crashed" and (limit := limits.named_in(log)):
            end = (end[0], end[1], f"{end[2]}; {limit.what}", end[3])
        result = judge(check, findings, end)
        return replace(result, seconds=seconds, log="" if result.status == "pass" else log)

    def _follow(
        self, probe: Probe, check: Check, findings: list[dict[str, Any]]
    ) -> Generator[Waiting | Seen, None, Ending]:
        """Give a check to a process, collect what it finds, and return how it ended."""
        redact, limit_s = self._session.redact, time_limit_s(check, self._session.target)
        probe.send({"do": "check", "id": check.id, "framework": check.framework,
                    "needs": check.needs, "timeout_s": limit_s})  # fmt: skip
        began = time.monotonic()
        tick_s, progress, finishing, count = TICK_S, "", False, 0
        while count < MAX_EVENTS:
            event = None
            while event is None:
                passed_s = time.monotonic() - began
                if passed_s >= tick_s:
                    yield Waiting(check, passed_s, ENDING if finishing else progress)
                    tick_s = passed_s + TICK_S
                event = probe.read(max(0, min(tick_s, limit_s) - passed_s))
                if event is None and passed_s >= limit_s:
                    return did_not_stop(FINISH_S) if finishing else timed_out(limit_s)
            kind = event["event"]
            count += kind != "progress"  # of which there may be many: the time is what limits them
            if kind == "finding":
                finding = protocol.finding(event.get("finding"))
                if finding is None:
                    return ("error", "protocol", "sent a finding that lacks something", None)
                findings.append(redact.value(finding))
                yield Seen(check.id, findings[-1])
            elif kind == "progress":
                progress = redact.text(str(event.get("text")))
            elif kind == "interrupted" and check.level == "soak" and self._stops < 2:
                probe.send({"do": "finish"})  # it has something to show for the time it ran
                finishing, limit_s = True, time.monotonic() - began + FINISH_S
                tick_s = 0.0  # whoever stopped it sees at once that it was heard
            elif kind != "start":
                return self._ending(event, check)
        return ("error", "protocol", f"told more than {MAX_EVENTS} events", None)

    def _ending(self, event: Event, check: Check) -> Ending:
        kind = event["event"]
        if kind == "end" and event.get("id") == check.id:
            return ended(event, self._session.redact)
        if kind == "interrupted":
            return ("notrun", "interrupted", "stopped while it ran", None)
        if kind == "gone":
            return process_ending(event)
        text = self._session.redact.text(str(event.get("text", event)))
        return ("error", "protocol", f"wrote something that is not an event: {text[:80]!r}", None)

    def _ready(self, extra: Mapping[str, str]) -> Probe:
        """Return the warm process, or start one."""
        if self._probe:
            return self._probe
        self._probe, self._log = start(self._session, extra, with_settings=self._with_settings)
        if self.stopped_by is not None:
            self._probe.interrupt()  # stop() came before there was a process to stop
        return self._probe

    def _end(self, *, gently: bool = True) -> Event | None:
        """Forget the process; returns its `gone` event."""
        probe = self._probe
        if probe is None:
            return None
        try:
            if not gently:
                probe.end()
            gone = probe.close()  # `stop` reaches it until it is closed
        finally:
            self._probe = None
        if self._log:
            self._log.close()
        return gone

    def _tail(self, position: int) -> str:
        text = self._log.since(position) if self._log else ""
        # Redacted before it is cut: half a secret would not be known as one.
        return self._session.redact.text(text[-2 * LOG_TAIL_CHARACTERS :])[-LOG_TAIL_CHARACTERS:]


def time_limit_s(check: Check, target: Mapping[str, Any]) -> float:
    """Return how long a check may take; one of the level `soak` as long as was asked on top."""
    minutes = target.get("minutes") if check.level == "soak" else None
    return check.timeout_s + 60 * (minutes or 0)


def skip_all(checks: list[Check], blocked: Blocked) -> Iterator[Ended]:
    """Yield a skip for each check of a framework that is not started at all."""
    for check in in_order(checks):
        yield Ended(outcome(check, "skip", blocked.reason, blocked.what))


def blocks(result: Result) -> bool:
    """Return whether checks that name this one in `AFTER` cannot tell anything."""
    if result.status == "skip":
        return result.reason in ("dependency", "missing-resource")
    return result.status in ("fail", "error", "notrun")


def describe(names: list[str], results: Mapping[str, Result]) -> str:
    """Say which checks block, and how they ended."""
    words = {
        "fail": "failed",
        "error": "had no verdict",
        "skip": "was skipped",
        "notrun": "was not run",
    }
    return ", ".join(f"{name} {words[results[name].status]}" for name in names)


def in_order(checks: list[Check]) -> list[Check]:
    """Return checks so that each comes after those it names in `AFTER`, else as they were.

    Those that need a process of their own come last: the warm one ends for each of them, and to
    import a framework again may take longer than a check.
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

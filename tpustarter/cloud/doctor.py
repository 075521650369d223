"""What stands between a project and its first TPU: credentials first, then all else at once.

Nothing is guessed: what is not answered is unknown, with the command that looks. What rests on
something that failed is not tried, or says so.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tpustarter.cloud import (
    allowance,
    credentials,
    findings,
    login,
    network,
    rest,
    standing,
    zone_and_type,
)
from tpustarter.cloud.client import ENDPOINT as TPU_ENDPOINT
from tpustarter.cloud.findings import Finding, Look, Seen, Verdict
from tpustarter.cloud.rest import Reason, Rest, UnansweredError
from tpustarter.cloud.subject import Subject
from tpustarter.problem import ExitCode, Problem

SCHEMA = "tpustarter.doctor/1"
TOTAL_S = 15.0
"""Seconds until what has not answered is unknown."""
WORKERS = 6
WORST_FIRST: tuple[Verdict, ...] = ("fail", "unknown", "warn", "info", "ok")

LOOKS = (*standing.LOOKS, *zone_and_type.LOOKS, *allowance.LOOKS, *network.LOOKS)


@dataclass(frozen=True)
class Report:
    """All that was found, worst first."""

    subject: Subject
    findings: tuple[Finding, ...]
    server: str | None = None
    """A server on this machine that was asked instead of Google's."""

    @property
    def exit_code(self) -> ExitCode:
        """Return 0 where nothing stands in the way, 1 where something does, 3 where it may."""
        by_id = {finding.id: finding for finding in self.findings}
        if by_id["credentials"].verdict == "fail":
            return ExitCode.DENIED
        if any(finding.verdict == "fail" for finding in self.findings):
            return ExitCode.FAILED
        doubts = [one for one in self.findings if one.verdict == "unknown" and one.matters]
        return ExitCode.INCONCLUSIVE if doubts else ExitCode.OK

    def counts(self) -> dict[Verdict, int]:
        """Return how many findings have each verdict."""
        verdicts = [finding.verdict for finding in self.findings]
        return {verdict: verdicts.count(verdict) for verdict in WORST_FIRST}

    def fields(self) -> dict[str, Any]:
        """Return the report as its JSON document, `doctor.schema.json`."""
        subject = self.subject
        return {
            "schema": SCHEMA,
            "project": subject.id if subject.show_names else None,
            "project_from": subject.project.source,
            "zone": subject.zone,
            "type": subject.type.name if subject.type else None,
            "server": self.server,
            "findings": [vars(finding) for finding in self.findings],
            "counts": self.counts(),
            "exit_code": int(self.exit_code),
        }


def examine(
    subject: Subject,
    *,
    find: Callable[[], Any] = credentials.find,
    call_s: float = rest.CALL_S,
    total_s: float = TOTAL_S,
) -> Report:
    """Return what stands between a project and its first TPU; nothing is changed.

    Args:
        subject: The project, and where and what is wanted.
        find: Returns the user's credentials; raises CloudProblem for none.
        call_s: Seconds until one call is given up.
        total_s: Seconds until what has not answered is unknown.
    """
    address = _server()
    if address:
        found = f"none are read: {address} on this machine is asked instead of Google"
        pass_, first = login.anonymous(), findings.of(login.LOOK, Seen("info", found))
    else:
        pass_, first = login.tried(subject, find)
    if pass_ is None:
        lack = "work" if first.verdict == "fail" else "could be tried"
        why = f"not tried, as no credentials {lack}"
        rest_of = [
            findings.of(look, Seen("unknown", why, look.command(subject), "not-tried"))
            for look in LOOKS
        ]
        return Report(subject, _sorted((first, *rest_of)), address)
    google = Rest(pass_, address=address, call_s=call_s, total_s=total_s)
    seen = tuple(_all(subject, google, total_s))
    return Report(subject, _sorted(_conclude(first, seen)), address)


def _server() -> str | None:
    """Return the server in Google's place; raises Problem where only half of Google has one."""
    address = rest.endpoint()
    if address is None and os.environ.get(TPU_ENDPOINT):
        raise Problem(
            f"`{TPU_ENDPOINT}` names a server on this machine, but the doctor asks Google's REST "
            "services",
            hint=f"set {rest.ENDPOINT} too, or unset {TPU_ENDPOINT}",
            code=ExitCode.USAGE,
        )
    return address


def _all(subject: Subject, google: Rest, total_s: float) -> Iterator[Finding]:
    """Yield a finding for every look, several at once; what takes too long is unknown.

    The threads are daemons: one that hangs in a call does not keep the program from ending.
    """
    waiting: queue.SimpleQueue[Look] = queue.SimpleQueue()
    for look in LOOKS:
        waiting.put(look)
    done: queue.SimpleQueue[Finding | Exception] = queue.SimpleQueue()

    def work() -> None:
        while True:
            try:
                look = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                done.put(findings.of(look, look.examine(subject, google)))
            except UnansweredError as error:
                done.put(findings.unknown(look, subject, error))
            except Exception as error:  # noqa: BLE001  it is raised in the first thread
                done.put(error)

    for _ in range(WORKERS):
        threading.Thread(target=work, daemon=True).start()
    missing = {look.id: look for look in LOOKS}
    clock = _Countdown(total_s + 0.5)  # the calls themselves end with `total_s`
    while missing:
        try:
            finding = done.get(timeout=clock.left_s())
        except queue.Empty:
            break
        if isinstance(finding, Exception):
            raise finding
        del missing[finding.id]
        yield finding
    for look in missing.values():
        yield findings.unknown(look, subject, UnansweredError("silent"))


class _Countdown:
    """What is left of a span of time."""

    def __init__(self, seconds: float) -> None:
        import time

        self._now = time.monotonic
        self._ends_at = time.monotonic() + seconds

    def left_s(self) -> float:
        """Return the seconds left; a little where none are."""
        return max(0.01, self._ends_at - self._now())


def _conclude(first: Finding, seen: Sequence[Finding]) -> list[Finding]:
    """Return the findings with what follows from one for the others."""
    if refused := [finding for finding in seen if finding.reason == "credentials"]:
        first = login.refused(refused[0].found)
    project = next(finding for finding in seen if finding.id == "project")
    if project.verdict != "fail":
        return [first, *seen]
    hidden: tuple[Reason, ...] = ("denied", "missing")
    why = "not known, as the project itself is not shown to this account"
    return [first, *(
        replace(finding, found=why) if finding.verdict == "unknown" and finding.reason in hidden
        else finding for finding in seen
    )]  # fmt: skip


def _sorted(found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings worst first, and else in the order in which a newcomer settles them."""
    order = [login.LOOK.id, *(look.id for look in LOOKS)]
    return tuple(
        sorted(found, key=lambda one: (WORST_FIRST.index(one.verdict), order.index(one.id)))
    )


def commands(subject: Subject) -> dict[str, str]:
    """Return the gcloud command that looks for each finding, by its title; nothing is sent."""
    return {look.title: look.command(subject) for look in (login.LOOK, *LOOKS)}


def headline(report: Report) -> str:
    """Return the whole truth in one sentence."""
    counts, total = report.counts(), len(report.findings)
    doubts = sum(1 for one in report.findings if one.verdict == "unknown")
    unseen = f"{doubts} {'is' if doubts == 1 else 'are'} not known"
    if report.exit_code == ExitCode.DENIED and doubts == total - 1:
        return ("Nothing is known about the project, because there are no credentials that work: "
                f"{doubts} of {total} findings are not known.")  # fmt: skip
    if failed := counts["fail"]:
        verb = "stands" if failed == 1 else "stand"
        also = f", and {unseen}" if doubts else ""
        return f"{failed} of {total} findings {verb} in the way of a TPU{also}."
    if report.exit_code == ExitCode.INCONCLUSIVE:
        verb = "is" if doubts == 1 else "are"
        return (f"Nothing that was seen stands in the way of a TPU, but {doubts} of {total} "
                f"findings {verb} not known, so this is no proof.")  # fmt: skip
    warned = counts["warn"]
    also = f", {warned} {'has a warning' if warned == 1 else 'have warnings'}" if warned else ""
    also += f", {unseen}" if doubts else ""
    if report.subject.zone is None:
        return (f"Nothing that was seen stands in the way of a TPU: {total} findings{also}. No "
                "zone is named, so its quota was not looked at.")  # fmt: skip
    return (f"Nothing stands in the way of a TPU: {total} findings{also}. "
            "Whether one is free right now was not asked.")  # fmt: skip

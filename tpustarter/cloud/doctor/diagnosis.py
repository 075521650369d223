"""Obstacles between a project and its first TPU: credentials first, then all other questions.

The other questions run in parallel. Nothing is guessed: a question without an answer is unknown,
and its finding has the gcloud command that finds out. A question that depends on a failed one is
not tried, or its finding mentions that.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from tpustarter.cloud.api import credentials, rest_client
from tpustarter.cloud.api.project_and_zone import PLACEHOLDER
from tpustarter.cloud.api.rest_client import Reason, RestClient, UnansweredError
from tpustarter.cloud.api.tpu_client import ENDPOINT as TPU_ENDPOINT
from tpustarter.cloud.create import zone_and_type
from tpustarter.cloud.doctor import (
    chip_quota,
    compute_quota,
    credential_check,
    network,
    project_checks,
    project_findings,
)
from tpustarter.cloud.doctor.doctor_target import DoctorTarget
from tpustarter.cloud.doctor.project_findings import (
    ProjectAnswer,
    ProjectFinding,
    ProjectQuestion,
    Verdict,
)
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text import phrases

SCHEMA = "tpustarter.doctor/1"
TOTAL_S = 15.0
"""Seconds after which a question without an answer is unknown."""
WORKERS = 6
WORST_FIRST: tuple[Verdict, ...] = ("fail", "unknown", "warn", "info", "ok")

QUESTIONS = (
    *project_checks.QUESTIONS,
    *zone_and_type.QUESTIONS,
    *chip_quota.QUESTIONS,
    *compute_quota.QUESTIONS,
    *network.QUESTIONS,
)
NO_PROJECT = (
    "no project is known: neither `--project` nor gcloud's configuration names one; the lesson "
    "setup/project-and-access makes one, and start/ways-to-get-one has ways without a project"
)


@dataclass(frozen=True)
class DoctorReport:
    """A project's findings, worst first."""

    subject: DoctorTarget
    findings: tuple[ProjectFinding, ...]
    server: str | None = None
    """The loopback server that replaced Google's, if any."""

    @property
    def exit_code(self) -> ExitCode:
        """Return 0 without an obstacle, 1 with one, 3 if in doubt, 77 without credentials."""
        by_id = {finding.id: finding for finding in self.findings}
        if by_id["credentials"].verdict == "fail":
            return ExitCode.DENIED
        if any(finding.verdict == "fail" for finding in self.findings):
            return ExitCode.FAILED
        doubts = [one for one in self.findings if one.verdict == "unknown" and one.can_block]
        return ExitCode.INCONCLUSIVE if doubts else ExitCode.OK

    def count_verdicts(self) -> dict[Verdict, int]:
        """Return the number of findings with each verdict."""
        verdicts = [finding.verdict for finding in self.findings]
        return {verdict: verdicts.count(verdict) for verdict in WORST_FIRST}

    def fields(self) -> dict[str, object]:
        """Return the report's JSON document, as in `doctor.schema.json`."""
        subject = self.subject
        return {
            "schema": SCHEMA,
            "project": subject.id if subject.show_names else None,
            "project_from": subject.project.source,
            "zone": subject.zone,
            "type": subject.type.name if subject.type else None,
            "server": self.server,
            "findings": msgspec.to_builtins(self.findings),
            "counts": self.count_verdicts(),
            "exit_code": int(self.exit_code),
        }


def diagnose_project(
    subject: DoctorTarget,
    *,
    find: Callable[[], object] = credentials.find_credentials,
    call_s: float = rest_client.CALL_S,
    total_s: float = TOTAL_S,
) -> DoctorReport:
    """Return the obstacles between a project and its first TPU; changes nothing.

    Args:
        subject: The project, and the zone and type that are wanted.
        find: Returns the user's credentials; raises CloudProblem if there are none.
        call_s: Timeout for one call, in seconds.
        total_s: Seconds after which a question without an answer is unknown.
    """
    address = _server()
    if subject.project == PLACEHOLDER:
        return DoctorReport(subject, _sorted(_without_project()), address)
    if address:
        found = f"none are read: {address} on this machine is asked instead of Google"
        pass_, first = (
            credential_check.make_anonymous_credentials(),
            project_findings.make_finding(credential_check.QUESTION, ProjectAnswer("info", found)),
        )
    else:
        pass_, first = credential_check.try_credentials(subject, find)
    if pass_ is None:
        lack = "work" if first.verdict == "fail" else "could be tried"
        why = f"not tried, as no credentials {lack}"
        rest_of = [
            project_findings.make_finding(
                question, ProjectAnswer("unknown", why, question.command(subject), "not-tried")
            )
            for question in QUESTIONS
        ]
        return DoctorReport(subject, _sorted((first, *rest_of)), address)
    google = RestClient(pass_, address=address, call_s=call_s, total_s=total_s)
    seen = tuple(_all(subject, google, total_s))
    return DoctorReport(subject, _sorted(_conclude(first, seen)), address)


def _without_project() -> list[ProjectFinding]:
    """Return the findings if no project is known, on which all other questions depend."""
    found: list[ProjectFinding] = []
    for question in (credential_check.QUESTION, *QUESTIONS):
        why = ProjectAnswer("unknown", "not tried, as no project is known", reason="not-tried")
        if question.id == "project":
            why = ProjectAnswer("fail", NO_PROJECT, "gcloud config set project PROJECT_ID")
        found.append(project_findings.make_finding(question, why))
    return found


def _server() -> str | None:
    """Return the loopback server, or None if Google itself is asked.

    Raises:
        Problem: Only part of Google is replaced.
    """
    address = rest_client.find_rest_test_server()
    if address is None and os.environ.get(TPU_ENDPOINT):
        raise Problem(
            f"`{TPU_ENDPOINT}` names a server on this machine, but the doctor asks Google's REST "
            "services",
            hint=f"set {rest_client.ENDPOINT} too, or unset {TPU_ENDPOINT}",
            code=ExitCode.USAGE,
        )
    return address


def _all(subject: DoctorTarget, google: RestClient, total_s: float) -> Iterator[ProjectFinding]:
    """Yield a finding for every question, several at once; one that takes too long is unknown.

    The threads are daemons, so that a hung call does not keep the program from exiting.
    """
    waiting: queue.SimpleQueue[ProjectQuestion] = queue.SimpleQueue()
    for question in QUESTIONS:
        waiting.put(question)
    done: queue.SimpleQueue[ProjectFinding | Exception] = queue.SimpleQueue()

    def work() -> None:
        while True:
            try:
                question = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                done.put(project_findings.make_finding(question, question.examine(subject, google)))
            except UnansweredError as error:
                done.put(project_findings.make_unknown_finding(question, subject, error))
            except Exception as error:  # noqa: BLE001  re-raised in the main thread
                done.put(error)

    for _ in range(WORKERS):
        threading.Thread(target=work, daemon=True).start()
    missing = {question.id: question for question in QUESTIONS}
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
    for question in missing.values():
        yield project_findings.make_unknown_finding(question, subject, UnansweredError("silent"))


class _Countdown:
    def __init__(self, seconds: float) -> None:
        import time

        self._now = time.monotonic
        self._ends_at = time.monotonic() + seconds

    def left_s(self) -> float:
        """Return the seconds left, at least 0.01."""
        return max(0.01, self._ends_at - self._now())


def _conclude(first: ProjectFinding, seen: Sequence[ProjectFinding]) -> list[ProjectFinding]:
    """Return the findings, adjusted for what some imply about others."""
    if refused := [finding for finding in seen if finding.reason == "credentials"]:
        first = credential_check.make_unusable_credentials_finding(refused[0].found)
    project = next(finding for finding in seen if finding.id == "project")
    if project.verdict != "fail":
        return [first, *seen]
    hidden: tuple[Reason, ...] = ("denied", "missing")
    why = "not known, as the project itself is not shown to this account"
    return [
        first,
        *(
            replace(finding, found=why)
            if finding.verdict == "unknown" and finding.reason in hidden
            else finding
            for finding in seen
        ),
    ]


def _sorted(found: Sequence[ProjectFinding]) -> tuple[ProjectFinding, ...]:
    """Return the findings worst first, then in the order in which to resolve them."""
    order = [credential_check.QUESTION.id, *(question.id for question in QUESTIONS)]
    return tuple(
        sorted(found, key=lambda one: (WORST_FIRST.index(one.verdict), order.index(one.id)))
    )


def list_commands(subject: DoctorTarget) -> dict[str, str]:
    """Return the gcloud command for each question, keyed by the question's title; none is run."""
    return {
        question.title: question.command(subject)
        for question in (credential_check.QUESTION, *QUESTIONS)
    }


def format_headline(report: DoctorReport) -> str:
    """Return a report's summary in one or two sentences."""
    counts, total = report.count_verdicts(), len(report.findings)
    doubts = sum(1 for one in report.findings if one.verdict == "unknown")
    unseen = f"{phrases.format_count(doubts, 'is', 'are')} not known"
    if report.exit_code == ExitCode.DENIED and doubts == total - 1:
        return (
            "Nothing is known about the project, because there are no credentials that work: "
            f"{doubts} of {total} findings are not known."
        )
    if failed := counts["fail"]:
        verb = phrases.choose_plural(failed, "stands", "stand")
        also = f", and {unseen}" if doubts else ""
        return f"{failed} of {total} findings {verb} in the way of a TPU{also}."
    if report.exit_code == ExitCode.INCONCLUSIVE:
        verb = phrases.choose_plural(doubts, "is", "are")
        return (
            f"Nothing that was seen stands in the way of a TPU, but {doubts} of {total} "
            f"findings {verb} not known, so this is no proof."
        )
    warned = counts["warn"]
    also = f", {phrases.format_count(warned, 'has a warning', 'have warnings')}" if warned else ""
    also += f", {unseen}" if doubts else ""
    if report.subject.zone is None:
        return (
            f"Nothing that was seen stands in the way of a TPU: {total} findings{also}. No "
            "zone is named, so its quota was not looked at."
        )
    return (
        f"Nothing stands in the way of a TPU: {total} findings{also}. "
        "Whether one is free right now was not asked."
    )

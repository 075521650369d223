"""The doctor's types: a question about a project, its answer, and the finding made of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import msgspec

from tpustarter.cloud.api.rest_client import Reason, RestClient, UnansweredError
from tpustarter.cloud.doctor.doctor_target import DoctorTarget

Verdict = Literal["fail", "unknown", "warn", "info", "ok"]
"""Worst first."""


@dataclass(frozen=True)
class ProjectAnswer:
    """The answer to a question about a project: a verdict, the value found, and a fix."""

    verdict: Verdict
    found: str
    """A sentence without a full stop, because reports join it with others."""
    fix: str | None = None
    """One command or URL; None if there is nothing to do."""
    reason: Reason | None = None
    """The reason for an unknown answer."""


@dataclass(frozen=True)
class ProjectQuestion:
    """A question about a project: the function that answers it, and the gcloud command for it."""

    id: str
    title: str
    source: str
    """The page that documents the API method or the claim."""
    examine: Callable[[DoctorTarget, RestClient], ProjectAnswer]
    command: Callable[[DoctorTarget], str]
    """Returns the gcloud command that finds out, for a question without an answer."""
    can_block: bool = True
    """True if it can keep a TPU from being created; an unknown answer then leaves doubt."""


class ProjectFinding(msgspec.Struct, frozen=True):
    """The answer to one question, as both front ends show it."""

    id: str
    title: str
    verdict: Verdict
    found: str
    fix: str | None
    source: str
    can_block: bool = msgspec.field(name="matters")
    reason: Reason | None = None


def make_finding(question: ProjectQuestion, seen: ProjectAnswer) -> ProjectFinding:
    """Return the finding for an answer."""
    return ProjectFinding(
        question.id,
        question.title,
        seen.verdict,
        seen.found,
        seen.fix,
        question.source,
        question.can_block,
        seen.reason,
    )


def make_unknown_finding(
    question: ProjectQuestion, subject: DoctorTarget, error: UnansweredError
) -> ProjectFinding:
    """Return the finding for a question without an answer, with the command that finds out."""
    fix = question.command(subject)
    if error.reason == "off":
        fix = subject.gcloud("services", "enable", error.service)
    return make_finding(
        question, ProjectAnswer("unknown", subject.hide(str(error)), fix, error.reason)
    )

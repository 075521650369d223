"""One observation about a project, and how it is made: what the doctor's parts share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tpustarter.cloud.rest import Reason, Rest, UnansweredError
from tpustarter.cloud.subject import Subject

Verdict = Literal["fail", "unknown", "warn", "info", "ok"]
"""Worst first."""


@dataclass(frozen=True)
class Seen:
    """What one look found."""

    verdict: Verdict
    found: str
    """A sentence without its full stop, as a report joins it with others."""
    fix: str | None = None
    """One command or one address; null where there is nothing to do."""
    reason: Reason | None = None
    """Why it is not known."""


@dataclass(frozen=True)
class Look:
    """One question about a project."""

    id: str
    title: str
    source: str
    """The page that documents the method, or the claim."""
    examine: Callable[[Subject, Rest], Seen]
    command: Callable[[Subject], str]
    """The gcloud command that looks, for where Google does not answer us."""
    matters: bool = True
    """Whether a TPU may fail to be created for it: what is unknown of it leaves a doubt."""


@dataclass(frozen=True)
class Finding:
    """What is known of one question, as both front ends show it."""

    id: str
    title: str
    verdict: Verdict
    found: str
    fix: str | None
    source: str
    matters: bool
    reason: Reason | None = None


def of(look: Look, seen: Seen) -> Finding:
    """Return the finding of a look."""
    return Finding(look.id, look.title, seen.verdict, seen.found, seen.fix, look.source,
                   look.matters, seen.reason)  # fmt: skip


def unknown(look: Look, subject: Subject, error: UnansweredError) -> Finding:
    """Return the finding of a look that was not answered, with the command that looks."""
    fix = look.command(subject)
    if error.reason == "off":
        fix = subject.gcloud("services", "enable", error.service)
    return of(look, Seen("unknown", subject.hide(str(error)), fix, error.reason))


def listed(names: Sequence[str]) -> str:
    """Return `a`, `a and b`, `a, b and c`, or `a, b, c and 4 more`."""
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return " and ".join((", ".join(names[:-1]), names[-1])) if names[1:] else names[0]

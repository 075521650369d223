"""Weighs what a log shows: the most likely cause first, consequences after what explains them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tpustarter.explain.known import Failure
from tpustarter.explain.scanning import Scan, Seen, Sign

Confidence = Literal["confirmed", "likely", "possible"]
_ROLES = ("cause", "symptom", "notice")
_CONFIDENCES = ("confirmed", "likely", "possible")


@dataclass(frozen=True)
class Match:
    """A failure that a log shows, and how sure that is."""

    failure: Failure
    confidence: Confidence
    signs: tuple[Sign, ...]
    """What shows it, in the order of the log."""
    explained_by: str = ""
    """The id of a failure before it that this one follows from; empty for a root cause."""
    here: str = ""
    """What this machine shows of it; empty where nothing could be looked at."""
    hint: str = ""
    """What to do about that on this machine."""


def rank(scan: Scan, failures: Sequence[Failure]) -> list[Match]:
    """Return what a log shows, the most likely root cause first; empty where nothing known is."""
    found = {
        one.id: match
        for one in failures
        if (match := _match(one, scan.seen.get(one.id, Seen()))) is not None
    }
    by = {
        consequence: match.failure.id
        for match in found.values()
        if match.confidence != "possible"
        for consequence in match.failure.explains
        if consequence != match.failure.id
    }
    matches = [
        Match(match.failure, match.confidence, match.signs, by.get(match.failure.id, ""))
        for match in found.values()
    ]
    return in_order(matches)


def in_order(matches: Iterable[Match]) -> list[Match]:
    """Return matches, the most likely root cause first."""
    return sorted(matches, key=_order)


def _match(failure: Failure, seen: Seen) -> Match | None:
    if seen.signs.get("unless") or (failure.needs and not seen.signs.get("needs")):
        return None
    shown = seen.signs.get("shows", [])
    suggested = seen.signs.get("suggests", [])
    different = len({sign.pattern for sign in suggested})
    if not shown and not suggested:
        return None
    sure: Confidence = "likely" if shown or different > 1 else "possible"
    signs = sorted([*shown, *suggested], key=lambda sign: sign.line)
    return Match(failure, sure, tuple(signs))


def _order(match: Match) -> tuple[int, ...]:
    role = _ROLES.index(match.failure.role)
    return (
        bool(match.explained_by),
        role == 2,  # a notice
        _CONFIDENCES.index(match.confidence),
        role,
        match.signs[0].line,
    )

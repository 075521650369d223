"""The last failure of each check, kept so that a bug report can show it again.

What a check says is kept as it came, in the state folder; whoever tells it to others cleans it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from tpustarter import state
from tpustarter.checking.results import Result, Run
from tpustarter.problem import Problem

MOST = 50
"""Failures that are kept; the oldest go first."""
_NAME = "last-failures"
_LOG_CHARACTERS = 4000

Fields = dict[str, Any]


@dataclass(frozen=True)
class Failed:
    """How a check failed when it was last run."""

    id: str
    when: str
    python: str
    """The Python under test, without secrets, as the run told it."""
    status: str
    reason: str
    detail: str
    findings: tuple[Fields, ...]
    """Those that failed."""
    log: str


def remember(run: Run) -> None:
    """Keep what failed in a run, and forget what passed; a full state folder changes nothing."""
    kept = _kept()
    for result in run.results:
        if result.status in ("fail", "error") and result.framework != "host":
            kept[result.id] = _fields(result, run)
        elif result.status in ("pass", "warn"):
            kept.pop(result.id, None)
    newest = sorted(kept.items(), key=lambda item: str(item[1].get("when")), reverse=True)[:MOST]
    with contextlib.suppress(Problem):
        if newest or state.load(_NAME):
            state.save(_NAME, {"failures": dict(newest)})


def remembered() -> list[Failed]:
    """Return the failures that are kept, the newest first."""
    return [_failed(name, fields) for name, fields in _kept().items()]


def _fields(result: Result, run: Run) -> Fields:
    return {
        "when": run.started,
        "python": str(run.target.get("python", "")),
        "status": result.status,
        "reason": result.reason or "",
        "detail": result.detail,
        "findings": [one for one in result.findings if one["verdict"] == "fail"],
        "log": result.log[-_LOG_CHARACTERS:],
    }


def _kept() -> dict[str, Fields]:
    stored = state.load(_NAME).get("failures")
    entries = cast("Mapping[Any, Any]", stored).items() if isinstance(stored, dict) else ()
    return {str(name): entry for name, entry in entries if isinstance(entry, dict)}


def _failed(name: str, fields: Fields) -> Failed:
    listed = fields.get("findings")
    every = cast("list[Any]", listed) if isinstance(listed, list) else []
    findings = tuple(cast("Fields", one) for one in every if isinstance(one, dict))
    names = ("when", "python", "status", "reason", "detail", "log")
    texts = {key: str(fields.get(key) or "") for key in names}
    return Failed(name, **texts, findings=tuple(one for one in findings if "code" in one))

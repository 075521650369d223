"""The last failure of each check, saved so that a bug report can show it.

A check's output is saved unredacted in the state folder; code that sends it on must redact it.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from tpustarter.checking.results.results import Result, Run, select_published_fields
from tpustarter.core import state
from tpustarter.core.json_values import entries_of_type, items_of_type
from tpustarter.core.problem import Problem

MOST = 50
"""Maximum number of failures that are kept; the oldest are dropped first."""
_NAME = "last-failures"
_LOG_CHARACTERS = 4000

Fields = dict[str, object]


@dataclass(frozen=True)
class SavedFailure:
    """A check's failure in its last run."""

    id: str
    when: str
    python: str
    """The Python under test, already redacted."""
    status: str
    reason: str
    detail: str
    findings: tuple[Fields, ...]
    """Findings that failed."""
    log: str


def save_failures(run: Run) -> None:
    """Save the failures of a run, and delete those of checks that passed.

    A full disk is ignored, and so is an unreadable file, which is left alone.
    """
    with contextlib.suppress(Problem):
        kept = _load_failures()
        for result in run.results:
            if result.status in ("fail", "error") and result.framework != "host":
                kept[result.id] = _fields(result, run)
            elif result.status in ("pass", "warn"):
                kept.pop(result.id, None)
        by_age = sorted(kept.items(), key=lambda item: str(item[1].get("when")), reverse=True)
        if kept or state.load_state(_NAME):
            state.save_state(_NAME, {"failures": dict(by_age[:MOST])})


def read_last_failures() -> list[SavedFailure]:
    """Return the saved failures, newest first."""
    return [_make_failure(name, fields) for name, fields in _load_failures().items()]


def _fields(result: Result, run: Run) -> Fields:
    return {
        "when": run.started,
        "python": run.target.get("python", ""),
        "status": result.status,
        "reason": result.reason or "",
        "detail": result.detail,
        "findings": [
            select_published_fields(one) for one in result.findings if one["verdict"] == "fail"
        ],
        "log": result.log[-_LOG_CHARACTERS:],
    }


def _load_failures() -> dict[str, Fields]:
    return entries_of_type(state.load_state(_NAME).get("failures"), Fields)


def _make_failure(name: str, fields: Fields) -> SavedFailure:
    findings = items_of_type(fields.get("findings"), Fields)
    names = ("when", "python", "status", "reason", "detail", "log")
    texts = {key: str(fields.get(key) or "") for key in names}
    return SavedFailure(name, **texts, findings=tuple(one for one in findings if "code" in one))

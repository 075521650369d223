"""The run as one JSON document (`tpustarter.report/1`) and as a stream of JSON events.

`schema.json` beside this file is the published shape; changes within a major number only add.
"""

from __future__ import annotations

import json
import os
from typing import Any

from tpustarter.checking.results import SCHEMA, Result, Run
from tpustarter.checking.runner import Ended, Seen, Started, Waiting
from tpustarter.checking.selfcheck import Began, Event
from tpustarter.checking.verdict import exit_code, verdict, verified_on
from tpustarter.problem import ExitCode, Problem, of_limit
from tpustarter.redact import Redactor


def document(run: Run) -> dict[str, Any]:
    """Return the whole run as the published document."""
    return {
        **_head(run),
        "results": [result_fields(result) for result in run.results],
        **_tail(run),
    }


def result_fields(result: Result) -> dict[str, Any]:
    """Return one result as it stands in the document."""
    return {
        "id": result.id,
        "title": result.title,
        "status": result.status,
        "reason": result.reason,
        "detail": result.detail,
        "seconds": round(result.seconds, 3),
        "optional": result.optional,
        "ran_on": result.ran_on,
        "findings": list(result.findings),
        "lesson": result.lesson or None,
        "log": result.log,
    }


def event_fields(event: Event) -> dict[str, Any]:
    """Return one event of the stream; the last one is `finished`, see `finished_fields`."""
    match event:
        case Began(run=run):
            return {"event": "began", **_head(run)}
        case Started(check=check):
            limit_s, about_s = check.timeout_s, check.estimate_s
            return {"event": "started", "id": check.id, "title": check.title,
                    "timeout_s": limit_s, "estimate_s": about_s}  # fmt: skip
        case Waiting(check=check, seconds=seconds, progress=progress):
            fields = {"event": "waiting", "id": check.id, "seconds": round(seconds, 1)}
            return {**fields, "progress": progress} if progress else fields
        case Seen(id=check_id, finding=finding):
            return {"event": "finding", "id": check_id, "finding": finding}
        case Ended(result=result):
            return {"event": "ended", **result_fields(result)}


def finished_fields(run: Run) -> dict[str, Any]:
    """Return the last event of the stream: the document without what was already told."""
    return {"event": "finished", "schema": SCHEMA, "seconds": round(run.seconds, 3), **_tail(run)}


def error_fields(error: Exception) -> dict[str, Any]:
    """Return what stands on stdout instead of a document when there is none to give."""
    error = of_limit(error) or error
    code = error.code if isinstance(error, Problem) else ExitCode.BUG
    what = error.what if isinstance(error, Problem) else f"{type(error).__name__}: {error}"
    hint = error.hint if isinstance(error, Problem) else None
    redacted = Redactor(os.environ).value({"what": what, "hint": hint})
    return {"schema": SCHEMA, "error": redacted, "exit_code": int(code)}


def line(fields: dict[str, Any]) -> str:
    """Return one JSON line; what is not JSON (NaN) is refused, not written."""
    return json.dumps(fields, allow_nan=False)


def _head(run: Run) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "tool": {"version": run.version},
        "started": run.started,
        "seconds": round(run.seconds, 3),
        "target": run.target,
        "host": run.host,
        "selection": {"level": run.level, "ids": run.ids},
    }


def _tail(run: Run) -> dict[str, Any]:
    blocked = run.blocked
    return {
        "blocked": {"what": blocked.what, "hint": blocked.hint or None} if blocked else None,
        "counts": run.counts(),
        "verified_on": verified_on(run),
        "verdict": verdict(run),
        "exit_code": int(exit_code(run)),
    }

"""A run as one JSON document (`tpustarter.report/1`), and as a stream of JSON events.

The published schema is `schema.json` in this folder; changes within a major version only add.
"""

from __future__ import annotations

import json
import os
import re

import msgspec

from tpustarter.checking.machine_check import Event, HostStateChanged, PlanMade
from tpustarter.checking.results.results import SCHEMA, Result, Run, select_published_fields
from tpustarter.checking.results.verdict import exit_code, find_verified_device, judge_run
from tpustarter.checking.run.runner import CheckEnded, CheckStarted, CheckWaiting, FindingReported
from tpustarter.core.problem import ExitCode, Problem, find_problem
from tpustarter.core.redact import Redactor


def make_json_document(run: Run) -> dict[str, object]:
    """Return the whole run as the published document."""
    return {
        **_head(run),
        **_hosts(run),
        "results": [result_fields(result) for result in run.results],
        **_tail(run),
    }


def result_fields(result: Result) -> dict[str, object]:
    """Return one result in the document's form."""
    return {
        "id": result.id,
        "title": result.title,
        "status": result.status,
        "reason": result.reason,
        "detail": result.detail,
        "seconds": round(result.seconds, 3),
        "optional": result.optional,
        "ran_on": msgspec.to_builtins(result.ran_on),
        "findings": [select_published_fields(finding) for finding in result.findings],
        "lesson": result.lesson or None,
        "log": result.log,
    }


def event_fields(event: Event) -> dict[str, object]:
    """Return an event of the stream as JSON fields; the last event comes from `finished_fields`."""
    match event:
        case PlanMade(run=run):
            return {"event": "began", **_head(run)}
        case HostStateChanged(host=host, name=name, state=state, detail=detail):
            fields: dict[str, object] = {
                "event": "host",
                "host": host,
                "name": name,
                "state": state,
            }
            return {**fields, "detail": detail} if detail else fields
        case CheckStarted(check=check):
            limit_s, about_s = check.timeout_s, check.estimate_s
            return {
                "event": "started",
                "id": check.id,
                "title": check.title,
                "timeout_s": limit_s,
                "estimate_s": about_s,
            }
        case CheckWaiting(check=check, seconds=seconds, progress=progress):
            fields = {"event": "waiting", "id": check.id, "seconds": round(seconds, 1)}
            return {**fields, "progress": progress} if progress else fields
        case FindingReported(id=check_id, finding=finding):
            return {"event": "finding", "id": check_id, "finding": select_published_fields(finding)}
        case CheckEnded(result=result):
            return {"event": "ended", **result_fields(result)}


def finished_fields(run: Run) -> dict[str, object]:
    """Return the last event of the stream: the document without the parts already sent."""
    return {
        "event": "finished",
        "schema": SCHEMA,
        "seconds": round(run.seconds, 3),
        **_hosts(run),
        **_tail(run),
    }


def error_fields(error: Exception) -> dict[str, object]:
    """Return the JSON that replaces the document on stdout if a run ends with an error."""
    error = find_problem(error) or error
    code = error.code if isinstance(error, Problem) else ExitCode.BUG
    what = error.full_text if isinstance(error, Problem) else f"{type(error).__name__}: {error}"
    hint = error.hint if isinstance(error, Problem) else None
    redacted = Redactor(os.environ).redact_value({"what": what, "hint": hint})
    return {"schema": SCHEMA, "error": redacted, "exit_code": int(code)}


def format_json_line(fields: dict[str, object]) -> str:
    """Return fields as one line of JSON.

    A byte of a file name that is not UTF-8 is escaped, because JSON cannot represent it.

    Raises:
        ValueError: A value cannot be represented in JSON, such as NaN.
    """
    return _ESCAPE.sub(
        lambda match: f"\\\\x{match[1]}" if match[1] else match[0],
        json.dumps(fields, allow_nan=False),
    )


_ESCAPE = re.compile(r"\\\\|\\ud[89ab]..\\u....|\\udc([89a-f].)")
"""A backslash, a surrogate pair, or a lone surrogate for a byte that is not UTF-8."""


def _head(run: Run) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "tool": {"version": run.version},
        "started": run.started,
        "seconds": round(run.seconds, 3),
        "target": run.target,
        "host": run.host,
        "selection": {"level": run.level, "ids": run.ids},
    }


def _hosts(run: Run) -> dict[str, object]:
    return {"hosts": run.hosts} if run.hosts else {}


def _tail(run: Run) -> dict[str, object]:
    blocked = run.blocked
    return {
        "blocked": {"what": blocked.what, "hint": blocked.hint or None} if blocked else None,
        "counts": run.count_statuses(),
        "verified_on": find_verified_device(run),
        "stored_programs": run.stored_programs,
        "verdict": judge_run(run),
        "exit_code": int(exit_code(run)),
    }

"""How the run of one check ended: from what its process said, or did, to a result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tpustarter.checking import protocol
from tpustarter.checking.results import Reason, Result, Status
from tpustarter.content import Check
from tpustarter.running.process import Event, signal_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tpustarter.redact import Redactor

Ending = tuple[Status, Reason | None, str, dict[str, Any] | None]
"""How the run of a check ended: status, reason, detail, and where it ran."""


def timed_out(limit_s: float) -> Ending:
    """Say that a check was not done in time."""
    return ("error", "timeout", f"no verdict within {limit_s:g} s", None)


def did_not_stop(limit_s: float) -> Ending:
    """Say that a check went on although it was told to end."""
    detail = f"still running {limit_s:g} s after it was asked to end"
    return ("notrun", "interrupted", detail, None)


def ended(event: Event, redact: Redactor) -> Ending:
    """Say how a check ended that its process tells about."""
    detail = redact.text(str(event.get("detail", "")))
    kinds: dict[str, tuple[Status, Reason | None]] = {
        "done": ("pass", None),
        "unmet": ("skip", "not-applicable"),
        "exception": ("error", "exception"),
        "load": ("error", "load"),
        "changed": ("error", "protocol"),
        "protocol": ("error", "protocol"),
    }
    status, reason = kinds.get(str(event.get("outcome")), ("error", "protocol"))
    return (status, reason, detail, protocol.place(event.get("ran_on")))


def process_ending(gone: Event) -> Ending:
    """Say how a process ended that should not have."""
    if gone["signal"]:
        name = signal_name(gone["signal"])
        return ("error", "crashed", f"the process was ended by {name}", None)
    if gone["code"]:
        return ("error", "crashed", f"the process ended with exit code {gone['code']}", None)
    if gone["code"] is None:
        return ("error", "lost", "the supervisor was killed from outside", None)
    return ("error", "protocol", "the process ended without a verdict, exit code 0", None)


def judge(check: Check, findings: list[dict[str, Any]], end: Ending) -> Result:
    """Turn findings and the way the run ended into a result.

    A finding that failed refutes the claim however the run ended; no finding proves nothing.
    """
    status, reason, detail, ran_on = end
    verdicts = {finding["verdict"] for finding in findings}
    if status != "skip" and "fail" in verdicts:
        status, reason, detail = "fail", None, detail if status != "pass" else ""
    elif status == "pass" and not findings:
        status, reason, detail = "error", "protocol", "it ended without a finding"
    elif status == "pass" and "warn" in verdicts:
        status = "warn"
    result = outcome(check, status, reason, detail)
    return replace(result, ran_on=ran_on, findings=tuple(findings))


def outcome(check: Check, status: Status, reason: Reason | None = None, detail: str = "") -> Result:
    """Return the result of a check that told nothing."""
    return Result(
        check.id,
        check.title or check.id,
        status,
        reason,
        detail,
        lesson=check.lesson,
        framework=check.framework,
        optional=check.optional,
    )

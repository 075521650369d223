"""Outcomes: how a check's run ended, and the result that follows from it."""

from __future__ import annotations

from dataclasses import replace

from tpustarter.checking.results.results import FindingFields, Reason, Result, Status, UsedDevices
from tpustarter.checking.run import probe_events
from tpustarter.core.content import Check
from tpustarter.probe.events import EndEvent
from tpustarter.running.process import ProbeGoneEvent, signal_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tpustarter.core.redact import Redactor

Ending = tuple[Status, Reason | None, str, UsedDevices | None]
"""The end of a check's run: status, reason, detail, and devices."""


def make_timeout_ending(limit_s: float) -> Ending:
    """Return the ending for a check that exceeded its timeout."""
    return ("error", "timeout", f"no verdict within {limit_s:g} s", None)


def make_ignored_stop_ending(limit_s: float) -> Ending:
    """Return the ending for a check that kept running after it was asked to stop."""
    detail = f"still running {limit_s:g} s after it was asked to end"
    return ("notrun", "interrupted", detail, None)


def parse_end_event(event: EndEvent, redact: Redactor) -> Ending:
    """Return the ending that the process reports in an `end` event."""
    detail = redact.redact_text(str(event.get("detail", "")))
    kinds: dict[str, tuple[Status, Reason | None]] = {
        "done": ("pass", None),
        "unmet": ("skip", "not-applicable"),
        "no-answer": ("skip", "no-answer"),
        "exception": ("error", "exception"),
        "load": ("error", "load"),
        "changed": ("error", "protocol"),
        "protocol": ("error", "protocol"),
    }
    status, reason = kinds.get(str(event.get("outcome")), ("error", "protocol"))
    return (status, reason, detail, probe_events.parse_devices(event.get("ran_on")))


def make_process_ending(gone: ProbeGoneEvent) -> Ending:
    """Return the ending for a check whose process ended unexpectedly."""
    if gone["signal"]:
        name = signal_name(gone["signal"])
        return ("error", "crashed", f"the process was ended by {name}", None)
    if gone["code"]:
        return ("error", "crashed", f"the process ended with exit code {gone['code']}", None)
    if gone["code"] is None:
        return ("error", "lost", "the supervisor was killed from outside", None)
    return ("error", "protocol", "the process ended without a verdict, exit code 0", None)


def judge_check(check: Check, findings: list[FindingFields], end: Ending) -> Result:
    """Return the result of a check from its findings and the ending of its run.

    A failed finding refutes the claim regardless of the ending; without findings nothing is proved.
    """
    status, reason, detail, ran_on = end
    verdicts = {finding["verdict"] for finding in findings}
    if reason != "not-applicable" and "fail" in verdicts:
        status, reason, detail = "fail", None, detail if status != "pass" else ""
    elif status == "pass" and not findings:
        status, reason, detail = "error", "protocol", "it ended without a finding"
    elif status == "pass" and "warn" in verdicts:
        status = "warn"
    result = result_without_findings(check, status, reason, detail)
    return replace(result, ran_on=ran_on, findings=tuple(findings))


def result_without_findings(
    check: Check, status: Status, reason: Reason | None = None, detail: str = ""
) -> Result:
    """Return the result of a check without findings."""
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

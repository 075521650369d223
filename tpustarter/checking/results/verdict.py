"""The only code that turns results into a verdict, its kind of device, and an exit code."""

from __future__ import annotations

import signal
from typing import Literal

from tpustarter.checking.results.results import KINDS, Kind, Result, Run
from tpustarter.core.problem import ExitCode

Verdict = Literal["unhealthy", "inconclusive", "degraded", "healthy"]


def find_verified_device(run: Run) -> Kind:
    """Return the weakest kind of device on which a claim of this run was shown to hold."""
    kinds = [result.kind for result in run.results if result.status in ("pass", "warn")]
    device_kinds = [kind for kind in kinds if kind != "none"]
    return KINDS[min(KINDS.index(kind) for kind in device_kinds)] if device_kinds else "none"


def is_verdict_missing(result: Result) -> bool:
    """Return whether a check lacks a verdict that it should have."""
    if result.status in ("error", "notrun"):
        return True
    without = ("missing-resource", "no-answer", "dependency")
    return result.status == "skip" and result.reason in without


def is_nothing_verified(run: Run) -> bool:
    """Return whether no check passed, or none that uses a device although some were selected."""
    passed = [result for result in run.results if result.status in ("pass", "warn")]
    if not all(result.optional for result in run.results):  # optional ones count only if alone
        passed = [result for result in passed if not result.optional]
    asked_device = any(result.framework != "host" for result in run.results)
    return not passed or (asked_device and find_verified_device(run) == "none")


def judge_run(run: Run) -> Verdict:
    """Return the verdict of a run, based on the required checks that apply to this machine."""
    required = [result for result in run.results if not result.optional]
    if any(result.status == "fail" for result in required):
        return "unhealthy"
    if any(is_verdict_missing(result) for result in required) or is_nothing_verified(run):
        return "inconclusive"
    if any(result.status in ("warn", "fail") for result in run.results):
        return "degraded"
    return "healthy"


def exit_code(run: Run) -> ExitCode:
    """Return the exit code of a run; of several that apply, the first in the table wins."""
    interrupted = ExitCode.INTERRUPTED if run.stopped_by == signal.SIGINT else ExitCode.TERMINATED
    judged = judge_run(run)
    candidates = (
        (run.stopped_by is not None, interrupted),
        (any(result.reason == "load" for result in run.results), ExitCode.CONFIGURATION),
        (run.require not in (None, run.target.get("platform")), ExitCode.NO_DEVICE),
        (run.blocked is not None and run.blocked.code == ExitCode.NO_DEVICE, ExitCode.NO_DEVICE),
        (judged == "unhealthy", ExitCode.FAILED),
        (judged == "inconclusive", _inconclusive(run)),
        (judged == "degraded" and run.fail_on_warn, ExitCode.SOFT),
    )
    return next((code for applies, code in candidates if applies), ExitCode.OK)


def _inconclusive(run: Run) -> ExitCode:
    if run.blocked:
        return run.blocked.code
    broken = any(
        result.status in ("error", "notrun") or result.reason == "no-answer"
        for result in run.results
    )
    return (
        ExitCode.NOTHING_VERIFIED
        if is_nothing_verified(run) and not broken
        else ExitCode.INCONCLUSIVE
    )

"""The next step after a result or a run of checks, as data; each front end draws its own words."""

from __future__ import annotations

from enum import Enum

from tpustarter.checking.results.results import WORST_FIRST, Result, Run, read_hint
from tpustarter.probe.finding import Hint


class NextAction(Enum):
    """The kind of step that comes next after a result or a run."""

    READ_CAUSE = "read-cause"
    """Read about the check that found the cause."""
    SET_UP = "set-up"
    """Make the environment that the hint names."""
    EXPLAIN = "explain"
    """Search the output for the reason of the failure."""
    READ = "read"
    """Read the lesson of the check."""
    REPEAT = "repeat"
    """Run again what was stopped."""
    GO_ON = "go-on"
    """Nothing is left to do here."""


def choose_hint(result: Result) -> Hint:
    """Return the hint of the cause or the worst finding, or else the command that shows more."""
    if result.cause and result.cause.finding["hint"]:
        return read_hint(result.cause.finding)
    for verdict in ("fail", "warn"):
        for finding in result.findings:
            if finding["verdict"] == verdict and finding["hint"]:
                return read_hint(finding)
    return Hint.see(f"tpustarter check {result.id} --isolate -v", "shows all it wrote")


def find_setup(result: Result) -> str:
    """Return the set-up that helps after a failure or a warning, or "" if there is none."""
    return (result.status in ("fail", "warn") and choose_hint(result).setup) or ""


def is_unexplained(result: Result) -> bool:
    """Return whether a check has failed, and no other check of the run has found the cause."""
    return result.status in ("fail", "error") and result.cause is None


def suggest_after_result(result: Result) -> NextAction:
    """Return the action that comes next after one result."""
    if result.cause:
        return NextAction.READ_CAUSE
    if find_setup(result):
        return NextAction.SET_UP
    if is_unexplained(result):
        return NextAction.EXPLAIN
    is_warning = result.status == "warn" and result.lesson
    return NextAction.READ if is_warning else NextAction.GO_ON


def suggest_after_run(run: Run) -> tuple[NextAction, Result]:
    """Return the action that comes next after a run, and the result that it belongs to."""
    worst = min(run.results, key=lambda result: WORST_FIRST.index(result.status))
    action = suggest_after_result(worst)
    if action is NextAction.GO_ON and worst.status != "warn" and run.stopped_by:
        action = NextAction.REPEAT
    return action, worst

"""The next step after a result or a run, as data; each front end has its own words for it."""

from __future__ import annotations

from enum import Enum

from tpustarter.checking.results.results import WORST_FIRST, Result, Run, read_hint
from tpustarter.probe.finding import Hint


class NextAction(Enum):
    """The kind of step that comes next after a result or a run."""

    READ_CAUSE = "read-cause"
    """Read about the check that found the cause."""
    SET_UP = "set-up"
    """Make the environment named by the hint."""
    EXPLAIN = "explain"
    """Search the output for the reason of the failure."""
    READ = "read"
    """Read the check's lesson."""
    REPEAT = "repeat"
    """Repeat a run that was stopped."""
    GO_ON = "go-on"
    """Nothing remains to be done."""


def choose_hint(result: Result) -> Hint:
    """Return the hint of the cause or of the worst finding, or else the command that shows more."""
    if result.cause and result.cause.finding["hint"]:
        return read_hint(result.cause.finding)
    for verdict in ("fail", "warn"):
        for finding in result.findings:
            if finding["verdict"] == verdict and finding["hint"]:
                return read_hint(finding)
    return Hint.see(f"tpustarter check {result.id} --isolate -v", "shows all it wrote")


def find_setup(result: Result) -> str:
    """Return the set-up that can fix a failure or warning, or "" if there is none."""
    return (result.status in ("fail", "warn") and choose_hint(result).setup) or ""


def is_unexplained(result: Result) -> bool:
    """Return whether a check has failed without a cause found by another check."""
    return result.status in ("fail", "error") and result.cause is None


def suggest_after_result(result: Result) -> NextAction:
    """Return the next action after a result."""
    if result.cause:
        return NextAction.READ_CAUSE
    if find_setup(result):
        return NextAction.SET_UP
    if is_unexplained(result):
        return NextAction.EXPLAIN
    is_warning = result.status == "warn" and result.lesson
    return NextAction.READ if is_warning else NextAction.GO_ON


def suggest_after_run(run: Run) -> tuple[NextAction, Result]:
    """Return the next action after a run, and the result that it refers to."""
    worst = min(run.results, key=lambda result: WORST_FIRST.index(result.status))
    action = suggest_after_result(worst)
    if action is NextAction.GO_ON and worst.status != "warn" and run.stopped_by:
        action = NextAction.REPEAT
    return action, worst

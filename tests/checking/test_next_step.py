"""The action that comes next after a result or a run."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest

from tests.support.runs import FINDING, result, run_of
from tpustarter.checking.results import next_step
from tpustarter.checking.results.next_step import NextAction
from tpustarter.checking.results.results import Cause, Result
from tpustarter.probe.finding import Finding, Hint

SET_UP = {
    **FINDING,
    **Finding("SAMPLE-HINT", "no JAX", hint=Hint.set_up("jax")).as_dict(),
    "verdict": "fail",
}
BY_ANOTHER = replace(result("error"), cause=Cause("host.environment", SET_UP))
WITH_SET_UP = replace(result("fail"), findings=(SET_UP,))


@pytest.mark.parametrize(
    ("after", "action"),
    [
        (BY_ANOTHER, NextAction.READ_CAUSE),
        (WITH_SET_UP, NextAction.SET_UP),
        (result("fail"), NextAction.EXPLAIN),
        (result("error"), NextAction.EXPLAIN),
        (result("warn"), NextAction.READ),
        (replace(result("warn"), lesson=""), NextAction.GO_ON),
        (result("pass"), NextAction.GO_ON),
        (result("notrun"), NextAction.GO_ON),
    ],
)
def test_result_leads_to_one_action(after: Result, action: NextAction) -> None:
    """A result leads to one action: its cause first, then a set-up, then an explanation."""
    assert action is next_step.suggest_after_result(after)


def test_worst_result_leads_on() -> None:
    """The first of the worst results decides the next step."""
    run = run_of(result("warn", "jax.a"), result("fail", "jax.b"), result("fail", "jax.c"))
    action, worst = next_step.suggest_after_run(run)

    assert (NextAction.EXPLAIN, "jax.b") == (action, worst.id)


@pytest.mark.parametrize(
    ("status", "action"),
    [
        ("notrun", NextAction.REPEAT),
        ("pass", NextAction.REPEAT),
        ("fail", NextAction.EXPLAIN),
        ("warn", NextAction.READ),
    ],
)
def test_stopped_run_is_repeated_unless_something_failed(status: str, action: NextAction) -> None:
    """A stopped run is repeated, unless it has a failure or a warning to fix first."""
    run = replace(run_of(result(status)), stopped_by=signal.SIGINT)

    assert action is next_step.suggest_after_run(run)[0]
    assert NextAction.REPEAT is not next_step.suggest_after_run(replace(run, stopped_by=None))[0]


def test_setup_is_named_by_its_cause_too() -> None:
    """A failure or a warning caused by a missing set-up leads to that set-up."""
    assert "jax" == next_step.find_setup(WITH_SET_UP)
    assert "jax" == next_step.find_setup(replace(BY_ANOTHER, status="fail"))
    assert not next_step.find_setup(BY_ANOTHER)
    assert not next_step.is_unexplained(BY_ANOTHER)

"""Tests of the verdict, its device and the exit code that results lead to."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest
from hypothesis import given

from tests.support.runs import (
    BLOCKED,
    BUSY,
    HOST,
    TPU,
    result,
    results_strategy,
    run_of,
)
from tpustarter.checking.results import verdict
from tpustarter.checking.results.results import KINDS, Result
from tpustarter.core.problem import ExitCode

VERDICTS = [
    # results, more of the run, verdict, exit code
    ([HOST, result("pass")], {}, "healthy", 0),
    ([HOST, result("warn")], {}, "degraded", 0),
    ([HOST, result("warn")], {"fail_on_warn": True}, "degraded", 4),
    ([HOST, result("pass"), result("fail", optional=True)], {}, "degraded", 0),
    ([HOST, result("pass"), result("fail")], {}, "unhealthy", 1),
    ([HOST, result("pass"), result("error")], {}, "inconclusive", 3),
    ([HOST, result("pass"), result("error", optional=True)], {}, "healthy", 0),
    ([HOST, result("pass"), result("skip")], {}, "healthy", 0),
    ([HOST, result("pass"), result("skip", reason="level")], {}, "healthy", 0),
    ([HOST, result("pass"), result("skip", reason="dependency")], {}, "inconclusive", 3),
    ([HOST, result("fail"), result("skip", reason="dependency")], {}, "unhealthy", 1),
    ([HOST, result("pass"), result("skip", reason="no-answer")], {}, "inconclusive", 3),
    ([result("skip", "host.sample", reason="no-answer")], {}, "inconclusive", 3),
    ([result("pass"), result("skip", reason="no-answer", optional=True)], {}, "healthy", 0),
    ([HOST, result("fail"), result("skip", reason="no-answer")], {}, "unhealthy", 1),
    ([HOST, BLOCKED], {"blocked": BUSY}, "inconclusive", 75),
    ([HOST, BLOCKED], {"blocked": replace(BUSY, code=ExitCode.DENIED)}, "inconclusive", 77),
    ([HOST, BLOCKED, result("fail")], {"blocked": BUSY}, "unhealthy", 1),
    ([HOST, result("skip")], {}, "inconclusive", 5),
    ([HOST], {}, "healthy", 0),
    ([], {}, "inconclusive", 5),
    ([result("skip", "host.sample")], {}, "inconclusive", 5),
    ([HOST, result("pass")], {"require": "tpu"}, "healthy", 69),
    ([HOST, result("fail")], {"require": "tpu"}, "unhealthy", 69),
    ([HOST, result("error", reason="load")], {}, "inconclusive", 78),
    ([HOST, result("fail"), result("error", reason="load")], {}, "unhealthy", 78),
    ([HOST, result("fail")], {"stopped_by": signal.SIGINT}, "unhealthy", 130),
    ([HOST, result("notrun")], {"stopped_by": signal.SIGTERM}, "inconclusive", 143),
]


@pytest.mark.parametrize(("results", "more", "wanted", "code"), VERDICTS)
def test_results_become_a_verdict_and_an_exit_code(
    results: list[Result], more: dict[str, object], wanted: str, code: int
) -> None:
    """Results lead to the verdict and exit code of the table."""
    run = run_of(*results, **more)

    assert (wanted, code) == (verdict.judge_run(run), verdict.exit_code(run))


def test_only_tpu_results_are_verified_on_tpu() -> None:
    """One claim on virtual devices is enough for the run not to count as verified on a TPU."""
    on_tpu = result("pass", ran_on=TPU)

    assert verdict.find_verified_device(run_of(on_tpu)) == "tpu"
    assert verdict.find_verified_device(run_of(on_tpu, result("pass"))) == "virtual-cpu"
    assert verdict.find_verified_device(run_of(result("fail", ran_on=TPU))) == "none"
    assert verdict.find_verified_device(run_of(HOST)) == "none"


RANK = ["healthy", "degraded", "inconclusive", "unhealthy"]


@given(results_strategy)
def test_a_failure_more_never_improves_the_verdict(results: list[Result]) -> None:
    """Adding a failed check leaves the verdict as bad as it was, or worse."""
    before = verdict.judge_run(run_of(*results))
    after = verdict.judge_run(run_of(*results, result("fail")))

    assert RANK.index(after) >= RANK.index(before)


def test_every_kind_has_a_rank() -> None:
    """Every kind of device has a rank, because the weakest kind decides."""
    assert KINDS == ("none", "virtual-cpu", "cpu", "gpu", "tpu")

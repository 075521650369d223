"""Sizes, alternatives and donations with the real TPU compiler, for v5e-8 and v6e-8."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.support.places import TESTS
from tests.support.real_compiler import python_with_libtpu
from tpustarter.rehearsal import comparison
from tpustarter.rehearsal.programs.rehearsal_request import RehearsalRequest
from tpustarter.rehearsal.run import Rehearsal

FILE = str(TESTS / "samples" / "rehearsal" / "alternatives.py")
TPUS = ("v5e-8", "v6e-8")
GIB = 2**30


def rehearse(function: str, tpus: tuple[str, ...] = TPUS, **asked: Any) -> Rehearsal:
    """Rehearse a function of the sample file."""
    request = RehearsalRequest(
        ids=(f"{FILE}:{function}",),
        tpus=tpus,
        compiler=python_with_libtpu(),
        python=sys.executable,
        **asked,
    )
    rehearsal = Rehearsal(request)
    for _ in rehearsal.events():
        pass
    return rehearsal


@pytest.mark.parametrize("tpu", TPUS)
def test_largest_batch_fills_the_memory(tpu: str) -> None:
    """Eight devices share the rows, so the largest is what one row needs in the free memory."""
    rehearsal = rehearse("rows", (tpu,), fit="batch")
    (fit,), (result,) = rehearsal.fits, rehearsal.results
    answers = {one.size: one for one in fit.tried}
    assert fit.largest and fit.next  # noqa: PT018  both are numbers then

    row = 2 * 4 * 8192 // 8  # of one device: an argument and a result in float32
    assert (8, fit.largest + 8) == (fit.step, fit.next)
    assert (True, False) == (answers[fit.largest].fits, answers[fit.next].fits)
    assert 0 <= result["hbm_limit_bytes"] - result["hbm_bytes"] < 64 * 8 * row


def test_shardings_are_compared_on_each_tpu() -> None:
    """Replicated weights need most memory, and sharded ones are received."""
    results = rehearse("shardings", compare=True).results
    for tpu in TPUS:
        rows = {row.program: row for row in comparison.compare_programs(results, tpu)}
        replicated, sharded = rows["replicated"], rows["sharded"]

        assert (replicated.hbm_bytes or 0) > (sharded.hbm_bytes or 0)
        assert (replicated.received_bytes or 0) < (sharded.received_bytes or 0)
        assert [True] == [row.best for row in rows.values() if row.best]


def read_both(function: str) -> list[dict[str, Any]]:
    """Return the answers for a step without a donation and with it, for v5e-8."""
    results = {one["program"]: one for one in rehearse(function, ("v5e-8",)).results}
    return [results["plain"], results["donated"]]


def test_donation_saves_what_its_compilation_says() -> None:
    """A compilation with the donation saves no more than the bound, and hardly less."""
    plain, donated = read_both("donations")
    hint = plain["donation"]

    assert ["params", "momentum"] == hint["arguments"]
    assert "donation" not in donated
    assert 0.99 * hint["most_bytes"] < plain["hbm_bytes"] - donated["hbm_bytes"]
    assert plain["hbm_bytes"] - donated["hbm_bytes"] <= hint["most_bytes"]


def test_donation_makes_a_program_fit() -> None:
    """A program that doesn't fit is compiled with the donation, too."""
    too_big, donated = read_both("too_big")

    assert "does-not-fit" == too_big["status"]
    assert too_big["donation"]["hbm_bytes"] == donated["hbm_bytes"] < too_big["hbm_limit_bytes"]

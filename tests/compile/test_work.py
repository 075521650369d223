"""FLOPs counted in traces against those that the real TPU compiler counts."""

from __future__ import annotations

import sys

import pytest

from tests.support.places import TESTS
from tests.support.real_compiler import LESS_EFFORT, python_with_libtpu
from tpustarter.rehearsal import roofline_bound
from tpustarter.rehearsal.programs.rehearsal_request import RehearsalRequest
from tpustarter.rehearsal.run import Rehearsal

MOST = 1.02
"""The compiler counts operations beside matrix products as well: so much more at most."""


def test_flops_are_those_of_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without loops both see the same products, and the bound is below the compiler's own model."""
    monkeypatch.setenv("JAX_OPTIMIZATION_LEVEL", LESS_EFFORT)
    request = RehearsalRequest(
        ids=(str(TESTS / "samples" / "programs_without_loops.py"),),
        tpus=("v5e-1",),
        compiler=python_with_libtpu(),
        python=sys.executable,
    )
    rehearsal = Rehearsal(request)
    for _ in rehearsal.events():
        pass

    assert 8 == len(rehearsal.results)
    for result in rehearsal.results:
        work = roofline_bound.read_work(result)
        assert work is not None
        assert work.flops <= result["flops"] <= MOST * work.flops, result["program"]
        if modelled := result["compiler_model_seconds"]:
            assert result["bound"]["seconds"] <= modelled, result["program"]
        causal = result["program"] == "attention, causal"
        assert work.flops * (513 / 1024 if causal else 1) == pytest.approx(work.least_flops)

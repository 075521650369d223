"""The largest size that fits: searched with a real JAX and a stand-in for the compiler."""

from __future__ import annotations

import json
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support.stub_compiler import SAMPLES
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.rehearsal.programs.rehearsal_request import RehearsalRequest
from tpustarter.rehearsal.result_fields import FittingSize
from tpustarter.rehearsal.run import Rehearsal, RehearsalAnswer

FILE = str(SAMPLES / "rehearsal" / "sized.py")
SCHEMA = json.loads(resources.files("tpustarter.rehearsal").joinpath("schema.json").read_text())


def rehearse(stub: str, function: str = "programs", **asked: Any) -> Rehearsal:
    """Search the largest batch for a v5e-8, unless other TPUs are given."""
    asked = {"ids": (f"{FILE}:{function}",), "fit": "batch", "tpus": ("v5e-8",), **asked}
    rehearsal = Rehearsal(RehearsalRequest(compiler=stub, python=sys.executable, **asked))
    for _ in rehearsal.events():
        pass
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(rehearsal.document())))
    return rehearsal


FOUND = {
    # function: step, largest, next
    "programs": (8, 1000, 1008),
    "tripled": (3, 999, 1002),
}


@pytest.mark.parametrize("function", FOUND)
def test_largest_multiple_and_next_are_compiled(function: str, stub: str) -> None:
    """The mesh or the file decides which sizes there are; the answer is that of the largest."""
    rehearsal = rehearse(stub, function)
    fit = rehearsal.fits[0]

    assert FOUND[function] == (fit.step, fit.largest, fit.next)
    assert {fit.largest, fit.next} <= {one.size for one in fit.tried}
    assert all(one.size % fit.step == 0 for one in fit.tried)
    assert [("step", "compiles")] == [(r["program"], r["status"]) for r in rehearsal.results]
    assert ExitCode.OK == rehearsal.exit_code


def test_program_without_the_dimension_is_skipped(stub: str) -> None:
    """A program that is the same at every size is skipped, because its search would never end."""
    _, init = rehearse(stub).fits

    assert ("init", None, ()) == (init.program, init.largest, init.tried)
    assert init.reason


def test_named_axes_of_arguments_are_searched(stub: str, tmp_path: Path) -> None:
    """A function needs no `programs`; without a border the search ends where sizes end."""
    arguments = ("f32[8,8]", "f32[batch,8]")
    (fit,) = rehearse(stub, "step", arguments=arguments, save=str(tmp_path / "kept")).fits

    assert (1, 2**31 - 1, None) == (fit.step, fit.largest, fit.next)
    assert [tmp_path / "kept/v5e-8/step/before.mlir"] == [*tmp_path.glob("kept/v5e-8/*/*.mlir")]


def test_programs_may_share_mesh_and_arguments(stub: str) -> None:
    """Two programs may have the same mesh and arguments, such as one step under two shardings."""
    results = rehearse(stub, "two", fit="", compare=True).results

    assert ["compiles", "compiles"] == [one["status"] for one in results]


def test_answers_are_in_order_of_the_file(stub: str) -> None:
    """Answers come in the file's order, even if a later program is answered first."""
    rehearsal = rehearse(stub, "mixed", fit="", compare=True)
    document = rehearsal.document()

    assert ["compiles", "error"] == [one["status"] for one in rehearsal.results]
    assert ["whole", "broken"] == [one["program"] for one in document["comparison"]]


@pytest.mark.parametrize(("function", "has_mfu"), [("tripled", True), ("two", False)])
def test_mfu_is_in_the_report_alone(function: str, has_mfu: bool, stub: str) -> None:
    """Only the final report has the MFU, because the measured time may belong to one program."""
    request = RehearsalRequest(
        ids=(f"{FILE}:{function}",), tpus=("v5e-8",), compiler=stub, python=sys.executable,
        measured_s=0.02,
    )  # fmt: skip
    rehearsal = Rehearsal(request)
    told = [one.result for one in rehearsal.events() if isinstance(one, RehearsalAnswer)]

    assert told
    assert not any("utilization" in one for one in told)
    assert [has_mfu] * len(told) == ["utilization" in one for one in rehearsal.results]


def test_each_size_is_told_until_the_last(stub: str) -> None:
    """Every size brings an interim result, and the report has only the final one."""
    request = RehearsalRequest(
        ids=(f"{FILE}:tripled",), fit="batch", tpus=("v5e-8",), compiler=stub, python=sys.executable
    )
    rehearsal = Rehearsal(request)
    told = [event for event in rehearsal.events() if isinstance(event, FittingSize)]

    assert [*range(1, len(told)), len(told) - 1] == [len(one.tried) for one in told]
    assert [False] * (len(told) - 1) + [True] == [one.finished for one in told]
    assert told[-1:] == rehearsal.fits


def test_nothing_that_fits_is_a_failure(stub: str) -> None:
    """If nothing fits, the answer is that of the smallest size, with what fills the memory."""
    rehearsal = rehearse(stub, "never")
    (fit,), (result,) = rehearsal.fits, rehearsal.results

    assert (None, 1) == (fit.largest, min(one.size for one in fit.tried))
    assert "does-not-fit" == result["status"]
    assert result["buffers"]
    assert ExitCode.FAILED == rehearsal.exit_code


def test_size_without_an_answer_ends_the_search(stub: str) -> None:
    """A size without an answer ends the search with a code that says it is no verdict."""
    rehearsal = rehearse(stub, "broken")
    (fit,) = rehearsal.fits

    assert fit.reason
    assert (fit.largest or 0) < 600
    assert ExitCode.INCONCLUSIVE == rehearsal.exit_code


def test_file_failing_at_every_size_errors_once(stub: str) -> None:
    """A file that fails at every size is reported once and isn't retried."""
    with pytest.raises(Problem) as problem:
        rehearse(stub, "fails")

    assert "ValueError: no data" in problem.value.full_text


UNSEARCHABLE = {
    "no such parameter": {"ids": (f"{FILE}:no_batch",)},
    "another parameter": {"fit": "rows"},
    "no name": {"fit": "8"},
    "the devices": {"fit": "devices"},
    "a check": {"ids": ("jax.all_reduce",)},
    "a script": {"ids": (), "script": (FILE,)},
    "no axis of that name": {"ids": (f"{FILE}:step",), "arguments": ("f32[8,8]", "f32[8,8]")},
    "an axis without a size": {
        "ids": (f"{FILE}:step",),
        "arguments": ("f32[8,8]", "f32[rows,8]"),
    },
    "a parameter without a size": {"fit": ""},
    "a measured time": {"measured_s": 1.0},
    "a comparison": {"compare": True},
    "a comparison of a check": {"ids": ("jax.all_reduce",), "fit": "", "compare": True},
}


@pytest.mark.parametrize("case", UNSEARCHABLE)
def test_what_cannot_be_searched_is_refused(case: str, stub: str) -> None:
    """An invalid search is refused before anything is started, with a corrected command."""
    asked = {"ids": (f"{FILE}:programs",), "fit": "batch", **UNSEARCHABLE[case]}
    with pytest.raises(Problem) as problem:
        Rehearsal(RehearsalRequest(compiler=stub, tpus=("v5e-8",), **asked))

    assert ExitCode.USAGE == problem.value.code
    assert problem.value.hint or case == "a measured time"

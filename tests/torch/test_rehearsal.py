"""Modules are lowered by a real torch_xla, and compiled for TPUs where the compiler is.

Run by the lane's own Python, which has torch_xla: it is the user's Python here.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.stub_compiler import SAMPLES
from tpustarter.core import content
from tpustarter.core.problem import Problem
from tpustarter.probe.rehearse import torch_module
from tpustarter.rehearsal.programs.rehearsal_request import RehearsalRequest
from tpustarter.rehearsal.run import Rehearsal

MODULES = SAMPLES / "rehearsal_torch" / "modules.py"
LOWERED = "lowered with torch_xla 2.9"


def rehearse(compiler: str, function: str, *names: str) -> dict[str, dict[str, Any]]:
    """Return the results for a function's module, by program and TPU."""
    tpus = names or ("v5e-8",)
    rehearsal = Rehearsal(
        RehearsalRequest(
            ids=(f"{MODULES}:{function}",),
            compiler=compiler,
            tpus=tpus,
            jobs=1,
            python=sys.executable,
        )
    )
    for _ in rehearsal.events():
        pass
    return {f"{one['program']} {one['tpu']}": one for one in rehearsal.results}


LISTED = {
    # name of the function: its programs
    "make": {"forward", "train_step"},
    "named": {"forward", "train_step"},
    "sgd": {"forward", "train_step"},
    "no_weights": {"forward"},
}


@pytest.mark.parametrize("name", LISTED)
def test_module_is_lowered_with_installed_library(name: str, stub: str) -> None:
    """A module is lowered with its weights on the CPU or `meta`, and a note names the library."""
    found = rehearse(stub, name)

    assert {f"{program} v5e-8" for program in LISTED[name]} == set(found)
    assert {"compiles"} == {one["status"] for one in found.values()}
    assert all(one["notes"][0].startswith(LOWERED) for one in found.values())


FAILED = {
    # name of the function: status of the forward pass, words of the reason
    "asks_for_a_value": ("error", "`aten::_local_scalar_dense` needs the values of a tensor"),
    "shape_of_values": ("error", "`aten::index.Tensor` needs the values of a tensor"),
    "no_kernel": ("refused", "torch_xla has no kernel for `aten::linalg_eig`"),
    "wrong_shape": ("error", "Cannot infer shape for dot operation"),
}


@pytest.mark.parametrize("name", FAILED)
def test_untraceable_code_has_line_and_reason(name: str, stub: str) -> None:
    """Values that are asked for end the user's program, and not this one."""
    status, words = FAILED[name]
    result = rehearse(stub, name)["forward v5e-8"]

    assert status == result["status"]
    assert result["reason"].startswith("modules.py:")
    assert words in result["reason"]


REFUSED = {
    # name of the function: words of the error
    "no_module": "found a builtin_function_or_method where the module is expected",
    "no_inputs": "expected `no_inputs` to return a module and its inputs, found a Doubles",
    "wrong_inputs": "a tensor, a tuple or a dict, found a int",
    "wrong_optimizer": "expected a function of parameters as the optimizer, found a str",
}
MISTAKEN = {
    # name of the function: words of the error
    "nothing": "expected `nothing` to return a module and its inputs, found None",
    "raises": "FileNotFoundError: no weights here",
    "nowhere": "modules.py has no function `nowhere`; it defines make, named",
}


@pytest.mark.parametrize("name", REFUSED)
def test_parts_that_are_no_module_are_refused(name: str) -> None:
    """Parts that aren't a module are refused; the test below proves the report of one."""
    with pytest.raises(TypeError) as error:
        torch_module.call_module_function(runpy.run_path(str(MODULES))[name], name)

    assert REFUSED[name] in str(error.value)


@pytest.mark.parametrize("name", MISTAKEN)
def test_function_without_module_is_one_error(name: str, stub: str) -> None:
    """A function that returns no module is one error with found and expected."""
    with pytest.raises(Problem) as problem:
        rehearse(stub, name)

    assert MISTAKEN[name] in problem.value.full_text


def test_compiler_reports_memory_of_training_step() -> None:
    """Weights, buffers and the optimizer's state are replaced in place; AdamW keeps two of each."""
    compiler = os.environ.get("TPUSTARTER_LIBTPU_PYTHON")
    if not compiler:
        pytest.skip("No Python with jax and libtpu is named: set TPUSTARTER_LIBTPU_PYTHON.")
    found = rehearse(compiler, "make", "v5e-8", "v6e-8")
    sgd = rehearse(compiler, "sgd")["train_step v5e-8"]["memory"]
    step = found["train_step v5e-8"]["memory"]

    assert {"compiles"} == {one["status"] for one in found.values()}
    assert 0 == found["forward v5e-8"]["memory"]["aliased"]
    assert 0 < sgd["aliased"] < step["aliased"] < step["arguments"]
    assert step["outputs"] - step["aliased"] < 4096


def test_programs_of_checks_compile(stub: str) -> None:
    """Every program that a check of torch_xla lists, with the real compiler where it is named."""
    listed = {
        check.id
        for check in content.read_checks()
        if check.framework == "torch_xla" and check.has_programs
    }
    if not listed:
        pytest.skip("No check of torch_xla lists programs, so there is nothing to compile.")
    compiler = os.environ.get("TPUSTARTER_LIBTPU_PYTHON") or stub
    rehearsal = Rehearsal(
        RehearsalRequest(
            ids=tuple(sorted(listed)),
            compiler=compiler,
            jobs=1,
            tpus=("v5e-8", "v6e-8"),
            python=sys.executable,
        )
    )
    for _ in rehearsal.events():
        pass

    assert [] == [one for one in rehearsal.results if one["status"] != "compiles"]
    assert listed == {one["check"] for one in rehearsal.results}


def test_the_users_file_is_left_alone() -> None:
    """The user's folder gets no file of ours."""
    assert {"modules.py"} == {path.name for path in Path(MODULES).parent.glob("*.*")}

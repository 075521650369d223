"""PyTorch modules and StableHLO files: what is named, and by which Python; without torch."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.stub_compiler import SAMPLES
from tests.support.stubs import make_python
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.machine import frameworks
from tpustarter.probe.rehearse import torch_module
from tpustarter.probe.rehearse.lowering_errors import UnmetRequestError
from tpustarter.rehearsal.programs import user_program
from tpustarter.rehearsal.programs.rehearsal_request import RehearsalRequest
from tpustarter.rehearsal.programs.user_program import LoweredProgram
from tpustarter.rehearsal.run import Rehearsal
from tpustarter.rehearsal.text import rehearsal_text

MODULES = SAMPLES / "rehearsal_torch" / "modules.py"
BOTH = ("v5e-8", "v6e-4")
START = b"ML\xefR\rStableHLO_v1.13.0\x00"
"""How a portable StableHLO file begins."""


def rehearse(stub: str, **asked: Any) -> Rehearsal:
    """Rehearse for one TPU; return the rehearsal."""
    rehearsal = Rehearsal(
        RehearsalRequest(compiler=stub, **{"tpus": ("v5e-8",), "jobs": 1, **asked})
    )
    for _ in rehearsal.events():
        pass
    return rehearsal


FILES = {
    # text of a file: what lowers `make` of it where no framework is named
    "import torch\ndef make(): ...": "torch",
    "def make():\n    from torch import nn": "torch",
    "from transformers import GPT2Config\ndef make(): ...": "torch",
    "import torch\ndef make(x): ...": "",
    "import torch\ndef make(*, batch=8): ...": "",
    "import torch\ndef other(): ...": "torch",
    "import jax, torch\ndef other(): ...": "",
    "import jax\ndef make(): ...": "",
    "import torch.x as\n": "",
}


@pytest.mark.parametrize("text", FILES)
def test_function_that_makes_module_is_recognised_without_running(
    text: str, tmp_path: Path
) -> None:
    """A function without arguments in a file that imports torch is a module; `--framework` wins."""
    file = tmp_path / "model.py"
    file.write_text(text)

    assert FILES[text] == user_program.parse_function(f"{file}:make", ()).torch
    assert "" == user_program.parse_function(f"{file}:make", (), "jax").torch
    assert "torchax" == user_program.parse_function(f"{file}:anything", (), "torchax").torch
    assert "" == user_program.parse_function(f"{file}:make", ("f32[2]",)).torch


def test_a_file_alone_names_its_usual_function() -> None:
    """`programs` for JAX, as in a check, and `make` for a module."""
    names = {
        framework: user_program.parse_function(str(MODULES), (), framework).function
        for framework in (None, "jax", "torch_xla")
    }

    assert {None: "make", "jax": "programs", "torch_xla": "make"} == names


USAGE = {
    # what is asked for: words of the error
    "arguments": (
        {"ids": (f"{MODULES}:make",), "framework": "torch_xla", "arguments": ("f32[2]",)},
        "torch_xla is to lower a PyTorch module",
    ),
    "framework without a file": (
        {"ids": ("jax.every_device",), "framework": "torchax"},
        "`--framework` needs a function, and none is named",
    ),
    "two files": ({"ids": ("a.mlirbc", "b.mlirbc")}, "only one file can be rehearsed at a time"),
    "no such file": ({"ids": ("forward.bytecode",)}, "there is no file `forward.bytecode`"),
}


@pytest.mark.parametrize("name", USAGE)
def test_invalid_arguments_are_usage_error(name: str, stub: str) -> None:
    """Invalid arguments are a usage error before anything is started."""
    asked, words = USAGE[name]
    with pytest.raises(Problem) as problem:
        Rehearsal(RehearsalRequest(compiler=stub, tpus=("v5e-8",), **asked))

    assert words in problem.value.full_text
    assert ExitCode.USAGE == problem.value.code


ROUTES = {
    # installed distributions, what is asked for: the route, or words of the error
    (("torch_xla",), "torch"): "torch_xla",
    (("torchax",), "torch"): "torchax",
    (("torch_xla", "torchax"), "torch"): "torch_xla",
    (("torchax",), "torchax"): "torchax",
    ((), "torch"): "this Python has no torch_xla or torchax",
    ((), "torch_xla"): "this Python has no torch_xla",
    (("torch_xla",), "torchax"): "the folder `torchax` here belongs to torch_xla",
    (("torch_xla", "torchax"), "torchax"): "each needs an environment of its own",
}


@pytest.mark.parametrize(("installed", "asked"), ROUTES)
def test_the_installed_library_lowers_and_its_metadata_decides(
    installed: tuple[str, ...], asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wheel of torch_xla has a folder `torchax` in it, which is no torchax."""
    for name in installed:
        folder = tmp_path / f"{name}-2.9.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.9.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    expected = ROUTES[installed, asked]
    if expected in frameworks.LOWERERS:
        assert expected == torch_module.choose_lowerer(asked)
        assert f"lowered with {expected} 2.9.0 (torch" in torch_module.describe_versions(expected)
        return
    with pytest.raises(UnmetRequestError, match=re.escape(expected)):
        torch_module.choose_lowerer(asked)


def test_python_without_torch_gets_setup_command(tmp_path: Path, stub: str) -> None:
    """The set-up command is the hint if the named Python has no torch, or none is found."""
    bare = str(make_python(tmp_path / "bare"))
    with pytest.raises(Problem, match="no torch_xla or torchax") as named:
        rehearse(stub, ids=(f"{MODULES}:make",), python=bare)
    with pytest.raises(Problem, match="no Python found here has torchax") as found:
        rehearse(stub, ids=(f"{MODULES}:make",), framework="torchax")

    assert "`tpustarter setup pytorch-xla`" in (named.value.hint or "")
    assert bare in (named.value.hint or "")
    assert "an environment of its own" in (found.value.hint or "")
    assert ExitCode.INCONCLUSIVE == found.value.code


def test_stablehlo_file_is_compiled_unchanged(tmp_path: Path, stub: str) -> None:
    """The file tells its devices; one that is too big has the compiler's report, as any other."""
    small, large = tmp_path / "forward.bytecode", tmp_path / "large.mlirbc"
    small.write_bytes(START)
    large.write_bytes(START + b"too_big")
    (fits,) = rehearse(stub, ids=(str(small),)).results
    (too_big,) = rehearse(stub, ids=(str(large),)).results

    assert ("forward", "compiles", 1) == (fits["program"], fits["status"], fits["devices"])
    assert ["read from a file"] == fits["notes"]
    assert ("large", "does-not-fit") == (too_big["program"], too_big["status"])
    assert too_big["buffers"]


def test_stablehlo_file_tells_its_devices(tmp_path: Path, stub: str) -> None:
    """A StableHLO file states its devices, and a TPU with fewer gets an error."""
    file = tmp_path / "forward.mlirbc"
    file.write_bytes(START + b"eight")
    found = {one["tpu"]: one for one in rehearse(stub, ids=(str(file),), tpus=BOTH).results}

    assert ("compiles", 8) == (found["v5e-8"]["status"], found["v5e-8"]["devices"])
    assert "error" == found["v6e-4"]["status"]


def test_invalid_stablehlo_file_is_refused_at_once(tmp_path: Path, stub: str) -> None:
    """An invalid StableHLO file is refused at once, and the hint names what writes one."""
    file = tmp_path / "model.mlirbc"
    file.write_bytes(b"PK\x03\x04")
    with pytest.raises(Problem, match="is not a StableHLO file") as problem:
        rehearse(stub, ids=(str(file),))

    assert "save_as_stablehlo" in (problem.value.hint or "")


def test_donated_memory_is_part_of_cache_key(tmp_path: Path, stub: str) -> None:
    """The same text with other aliases is another program; a check's program names its check."""
    artifact = tmp_path / "program.mlirbc"
    artifact.write_bytes(START)
    stored: list[bool] = []
    for aliases in ([], [[0, 0]], [[0, 0]]):
        lowered = {
            "devices": 1,
            "shardy": True,
            "free_arguments": [True],
            "free_outputs": [True],
            "aliases": aliases,
        }
        source = {"artifact": str(artifact), "lowered": lowered, "program": "step"}
        program = LoweredProgram("step", ("v5e-8",), source, check="torch_xla.sums")
        rehearsal = rehearse(stub, program=program)
        stored.append(rehearsal.results[0]["cached"])

    assert [False, False, True] == stored
    assert "torch_xla.sums" == rehearsal.results[0]["check"]
    assert "sums: step for v5e-8" in rehearsal_text.render_rehearsal(rehearsal)


CHECK = '''"""Sums are exact."""

FRAMEWORK = "{framework}"
LEVEL = "quick"
NEEDS = {{}}
TIMEOUT_S = 60
LESSON = "jax/first-program"
SOURCE = "https://example.org"


def programs(devices):
    return []


def run():
    yield
'''


def test_checks_without_torch_xla_are_left_out(tmp_path: Path, stub: str) -> None:
    """Checks are left out without torch_xla; it's an error if nothing else can be compiled."""
    for framework in ("jax", "torch_xla"):
        (tmp_path / framework).mkdir()
        (tmp_path / framework / "sums.py").write_text(CHECK.format(framework=framework))
    both, alone = (
        Rehearsal(
            RehearsalRequest(ids=ids, compiler=stub, tpus=("v5e-8", "v6e-8"), jobs=1),
            checks=tmp_path,
        )
        for ids in ((), ("torch_xla.*",))
    )
    for _ in both.events():
        pass
    with pytest.raises(Problem, match="no Python found here has torch_xla"):
        list(alone.events())

    assert [
        {
            "name": "torch_xla.* (1 checks)",
            "tpu": "v5e-8, v6e-8",
            "reason": "no Python found here has torch_xla",
        }
    ] == both.skipped

"""Rehearsal with the real TPU compiler, without a TPU.

Needs a Python with JAX and libtpu: TPUSTARTER_LIBTPU_PYTHON, or the one the tests run in. Programs
of the user's are lowered in the Python of the tests, and in TPUSTARTER_OLD_JAX_PYTHON if it is set.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jsonschema
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import tpustarter
from tests.checking.test_runner import until_ended
from tests.compile.test_speed_loops import GENERATIONS, LOOPS
from tests.support.places import TESTS
from tests.support.real_compiler import LESS_EFFORT, python_with_libtpu
from tpustarter.core import content, locations
from tpustarter.core.problem import ExitCode
from tpustarter.machine import tpus
from tpustarter.rehearsal.compile.compiler import Compiler, CompileTask, RehearsalAnswer
from tpustarter.rehearsal.programs.rehearsal_request import RehearsalRequest
from tpustarter.rehearsal.run import Rehearsal
from tpustarter.running import run_folder

ROOT = Path(tpustarter.__file__).parents[1]
SAMPLES = TESTS / "samples"
SCHEMA = json.loads(resources.files("tpustarter.rehearsal").joinpath("schema.json").read_text())
GIB = 2**30
JAX_CHECKS = {
    one.id for one in content.read_checks() if one.has_programs and one.framework == "jax"
}
REHEARSED = JAX_CHECKS - {"jax.matmul_rate"}
"""That one takes longer than all others, and `test_speed_loops.py` compiles all of its programs."""
COMPILED_BY_SPEED_LOOPS = {f"jax.{name}" for name in LOOPS}
"""`test_speed_loops.py` compiles all programs of these, for every generation."""
OTHER_TPUS = [*(tpu for tpu in GENERATIONS if tpu != "v5e-8"), "v6e-256"]


@pytest.fixture(scope="module")
def libtpu() -> str:
    """Return a Python that has JAX and libtpu, or skip the test."""
    return python_with_libtpu()


def rehearse(libtpu: str, **asked: Any) -> Rehearsal:
    """Rehearse for a v5e-8, unless other TPUs are given, and return the rehearsal."""
    asked = {"tpus": ("v5e-8",), "python": sys.executable, **asked}
    rehearsal = Rehearsal(RehearsalRequest(compiler=libtpu, **asked))
    for _ in rehearsal.events():
        pass
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(rehearsal.document())))
    return rehearsal


def only(rehearsal: Rehearsal) -> dict[str, Any]:
    """Return the one result of a rehearsal."""
    (result,) = rehearsal.results
    return result


def write(folder: Path, text: str) -> str:
    """Write a file of the user's and return its path."""
    path = folder / "train.py"
    path.write_text(f"import jax\nimport jax.numpy as jnp\n\n\n{text}\n")
    return str(path)


@pytest.mark.timeout(1500)
def test_every_check_compiles_and_store_agrees(libtpu: str) -> None:
    """The programs of every check are accepted for a v5e-8, laid out in tiles; twice the same.

    Those of PyTorch/XLA need a Python with torch_xla, and say so where there is none.
    """
    programs = [one for one in content.read_checks() if one.has_programs]
    asked = (*sorted(REHEARSED), "torch_xla.*")
    first, second = rehearse(libtpu, ids=asked), rehearse(libtpu, ids=asked)
    fields = [
        sorted(
            (
                {k: v for k, v in one.items() if k not in ("seconds", "cached")}
                for one in run.results
            ),
            key=lambda one: (one["check"], one["program"]),
        )
        for run in (first, second)
    ]

    assert {"compiles"} == {one["status"] for one in first.results}
    assert {one["check"] for one in first.results} == REHEARSED
    (left_out,) = first.skipped
    assert f"torch_xla.* ({len(programs) - len(JAX_CHECKS)} checks)" == left_out["name"]
    assert "this Python has no torch_xla" in left_out["reason"]
    assert all("T(" in one["buffers"][0]["layout"] for one in first.results)
    assert fields[0] == fields[1]
    # Two checks may list the same program, so that the first run answers one from the store.
    assert any(not one["cached"] for one in first.results)
    assert {True} == {one["cached"] for one in second.results}


@pytest.mark.timeout(1500)  # a quarter of a minute on a quiet core
@pytest.mark.parametrize("tpu", OTHER_TPUS)
def test_every_check_compiles_for_other_tpus(
    tpu: str, libtpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each program is accepted for every other generation, and for a slice of many hosts."""
    monkeypatch.setenv("JAX_OPTIMIZATION_LEVEL", LESS_EFFORT)
    asked = REHEARSED - COMPILED_BY_SPEED_LOOPS if tpu in GENERATIONS else REHEARSED
    run = rehearse(libtpu, ids=tuple(sorted(asked)), tpus=(tpu,), jobs=1)

    assert {one["status"] for one in run.results} == {"compiles"}
    assert {one["check"] for one in run.results} == asked
    assert run.exit_code == ExitCode.OK


def test_program_too_large_names_biggest_arrays(libtpu: str, tmp_path: Path) -> None:
    """The excess bytes and the named arrays of a program that is too large match its shapes."""
    file = write(tmp_path, "def step(x):\n    return jnp.tanh(x @ x) @ x")
    small, large = sorted(
        rehearse(
            libtpu, ids=(f"{file}:step",), arguments=("f32[50000,50000]",), tpus=("v5e-8", "v5p-8")
        ).results,
        key=lambda one: one["hbm_limit_bytes"],
    )
    asked = 50000 * 50000 * 4

    assert ("does-not-fit", "compiles") == (small["status"], large["status"])
    assert int(15.75 * GIB) == small["hbm_limit_bytes"]
    assert abs(small["hbm_bytes"] - small["hbm_limit_bytes"] - small["excess_bytes"]) < GIB / 64
    assert asked * 0.99 < small["memory"]["arguments"] < asked * 1.02
    for answer in (small, large):
        assert ["x"] == [one["op"] for one in answer["buffers"] if one["kind"] == "argument"]
    assert {"[50000,50000]"} == {one["shape"][3:] for one in small["buffers"][:2]}
    assert large["hbm_bytes"] > 2 * asked


def test_accepted_program_fits_and_slightly_larger_does_not(
    libtpu: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reported memory is what the compiler judges by, to the last percent."""
    file = write(tmp_path, "def step(a, x):\n    return x - a.T @ (a @ x)")
    monkeypatch.setenv("JAX_OPTIMIZATION_LEVEL", LESS_EFFORT)
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    (fits,), (too_big,) = (
        rehearse(
            libtpu, ids=(f"{file}:step",), arguments=(f"f64[{rows},4096]", "f64[4096]")
        ).results
        for rows in (64000, 64512)
    )

    assert ("compiles", "does-not-fit") == (fits["status"], too_big["status"])
    assert 0.99 < fits["hbm_bytes"] / fits["hbm_limit_bytes"] <= 1


def test_every_outcome_of_program_is_reported(
    libtpu: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused, padded, in float64, over all devices: each program has its own facts."""
    file = write(tmp_path, PROGRAMS)
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    run = rehearse(libtpu, ids=(file,))
    found = {one["program"]: one for one in run.results}
    points = next(one for one in found["padded"]["buffers"] if one["kind"] == "argument")

    assert {"eig": "refused", "padded": "compiles", "wide": "compiles", "spread": "compiles"} == {
        name: one["status"] for name, one in found.items()
    }
    assert "eig" in found["eig"]["reason"]
    assert 8_000_000 * 4 * 4 == points["laid_out_bytes"]  # 4 rows of each tile are for 3
    assert 8_000_000 * 3 * 4 == points["asked_bytes"]
    assert "f64[256,256]" in {one["shape"] for one in found["wide"]["buffers"]}
    assert 8 == found["spread"]["devices"]
    assert "all-reduce" in {one["op"] for one in found["spread"]["collectives"]}
    assert found["spread"]["compiler_model_seconds"] is None
    assert ExitCode.FAILED == run.exit_code


PROGRAMS = """
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def programs(devices):
    yield "eig", jnp.linalg.eig, (jax.ShapeDtypeStruct((64, 64), "float32"),)
    points = jax.ShapeDtypeStruct((8_000_000, 3), "float32")
    yield "padded", lambda x: x + x.sum(0), (points,)
    yield "wide", lambda x: x @ x, (jax.ShapeDtypeStruct((256, 256), "float64"),)
    over = NamedSharding(Mesh(np.array(devices), ("d",)), P("d"))
    yield "spread", lambda x: x.sum(), (jax.ShapeDtypeStruct((64, 128), "float32", sharding=over),)
"""


def test_a_program_of_an_old_jax_compiles(libtpu: str, tmp_path: Path) -> None:
    """The newest compiler compiles programs that JAX 0.6.2 has lowered, with GSPMD or without."""
    python = os.environ.get("TPUSTARTER_OLD_JAX_PYTHON")
    if not python:
        pytest.skip("TPUSTARTER_OLD_JAX_PYTHON names no Python with an old JAX, such as 0.6.2.")
    file = write(tmp_path, PROGRAMS)
    run = rehearse(libtpu, ids=(file,), python=python)
    found = {one["program"]: one for one in run.results}

    assert ("refused", "compiles", "compiles") == tuple(
        found[name]["status"] for name in ("eig", "padded", "spread")
    )
    assert "all-reduce" in {one["op"] for one in found["spread"]["collectives"]}


def over_all(x: Any) -> Any:
    """Return the sum of an array that lies on all devices."""
    return x.sum()


def test_the_python_api_keeps_shardings(libtpu: str) -> None:
    """A program lowered on 8 CPU devices in a user's own test compiles for 8 TPU devices."""
    over = NamedSharding(Mesh(np.array(jax.devices()), ("d",)), P("d"))
    x = jax.ShapeDtypeStruct((64, 128), jnp.float32, sharding=over)
    answer = tpustarter.rehearse(over_all, x, tpu="v5e-8", compiler=libtpu)

    assert answer.compiled
    assert ["all-reduce"] == [one["op"] for one in answer.collectives]
    assert answer.memory is not None
    assert 4096 == answer.memory["arguments"]


def test_libtpu_crash_is_one_error_and_next_compiles(libtpu: str, tmp_path: Path) -> None:
    """Shardings of the one kind that are read as the other abort libtpu: one clear error."""
    rehearsal = Rehearsal(
        RehearsalRequest(ids=("jax.every_device",), tpus=("v5e-8",), compiler=libtpu)
    )
    session = rehearsal._session(run_folder.make_run_folder())
    words = [sys.executable, "-c", EXPORT, str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    source = subprocess.run(words, check=True, text=True, capture_output=True, env=env)
    gspmd, fine = json.loads(source.stdout)
    known = tpus.find_topology("v5e-8")
    fields = {**vars(known), "hbm_bytes": known.hbm_bytes}
    compiler = Compiler(session, timeout_s=120, cache=None)
    answers = []
    for name, lowered in (("wrong", gspmd), ("fine", fine)):
        task = CompileTask(name, "v5e-8", fields, {**lowered, "program": name})
        told = compiler.run(task)
        answers += [one.result for one in told if isinstance(one, RehearsalAnswer)]
    compiler.close()

    assert ["error", "compiles"] == [one["status"] for one in answers]
    assert answers[0]["reason"].startswith("the compiler crashed: ")
    assert "SIG" not in answers[0]["reason"]
    until_ended(str(locations.make_state_folder()))


EXPORT = """
import json, sys
from pathlib import Path
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from tpustarter.probe.rehearse import exports

def total(x):
    return x.sum()

over = NamedSharding(Mesh(np.array(jax.devices()), ("d",)), P("d"))
x = jax.ShapeDtypeStruct((64, 128), "float32", sharding=over)
told = []
for shardy in (False, True):
    jax.config.update("jax_use_shardy_partitioner", shardy)
    path = Path(sys.argv[1]) / f"{shardy}.mlirbc"
    one = exports.export_to_file(path, exports.LoweringJob(total, (x,)))
    one["lowered"]["shardy"] = True
    told.append({"artifact": one["artifact"], "lowered": one["lowered"]})
print(json.dumps(told))
"""


def command(libtpu: str, *arguments: str) -> subprocess.Popen[str]:
    """Start the command line."""
    words = [sys.executable, "-m", "tpustarter", "rehearse", *arguments, "--compiler", libtpu]
    return subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def test_two_rehearsals_go_side_by_side(libtpu: str) -> None:
    """The lock that keeps a second process from a TPU does not keep one from compiling."""
    words = ("jax.every_device", "--tpu", "v5e-8", "--fresh", "--json")
    runs = [command(libtpu, *words) for _ in range(2)]
    documents = [json.loads(run.communicate(timeout=300)[0]) for run in runs]

    assert [["compiles"]] * 2 == [
        [one["status"] for one in document["results"]] for document in documents
    ]


def test_an_interrupt_leaves_no_process(libtpu: str) -> None:
    """Ctrl-C while libtpu compiles ends with 130."""
    run = command(libtpu, "jax.*", "--tpu", "v6e-8", "--fresh")
    assert run.stdout is not None
    assert "compiler " in run.stdout.readline()
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=120)

    assert ExitCode.INTERRUPTED == run.returncode
    until_ended(str(locations.make_state_folder()))


def test_topology_that_differs_from_table_is_refused(
    libtpu: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong figure in the table is found by asking the compiler, before anything is compiled."""
    wrong = replace(tpus.find_topology("v5e-8"), hbm_gib_per_device=15.5)
    monkeypatch.setattr(tpus, "find_topology", lambda *_: wrong)
    result = only(rehearse(libtpu, ids=("jax.every_device",)))

    assert "refused" == result["status"]
    assert "hbm_gib_per_device 15.75, expected 15.5" in result["reason"]


FILES = """
import sys
from pathlib import Path
import jax, numpy as np
from jax import export
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("d",), axis_types=(AxisType.Auto,))

def product(a, b):
    return a @ b

def array(*axes):
    return jax.ShapeDtypeStruct((512, 512), "float32", sharding=NamedSharding(mesh, P(*axes)))

step = jax.jit(product, out_shardings=NamedSharding(mesh, P()))
arguments = array(None, "d"), array("d")
for shardy in (True, False):
    jax.config.update("jax_use_shardy_partitioner", shardy)
    text = step.lower(*arguments).as_text()
    Path(sys.argv[1], f"{'shardy' if shardy else 'gspmd'}.mlir").write_text(text)
# As torch_xla exports it: only the shardings say for how many devices it is.
assert "mhlo.num_partitions = 8 : i32, " in text
unnamed = text.replace("mhlo.num_partitions = 8 : i32, ", "")
Path(sys.argv[1], "unnamed.mlir").write_text(unnamed)
jax.config.update("jax_use_shardy_partitioner", True)
exported = export.export(step, platforms=["tpu"])(*arguments)
Path(sys.argv[1], "portable.mlirbc").write_bytes(exported.mlir_module_serialized)
"""


def test_stablehlo_files_compile_for_the_devices_they_name(libtpu: str, tmp_path: Path) -> None:
    """Portable and as text, with shardings of Shardy and of GSPMD; a saved text compiles again."""
    env = os.environ | {"JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "8"}
    subprocess.run([libtpu, "-c", FILES, str(tmp_path)], env=env, check=True, timeout=240)
    names = ("portable.mlirbc", "shardy.mlir", "gspmd.mlir", "unnamed.mlir")
    saved = tmp_path / "saved"
    ids = [str(tmp_path / name) for name in names]
    first = [only(rehearse(libtpu, ids=(one,), save=str(saved))) for one in ids]
    again = only(rehearse(libtpu, ids=(str(saved / "v5e-8" / "portable" / "before.mlir"),)))
    facts = [
        (one["devices"], one["memory"], [one["op"] for one in one["collectives"]])
        for one in (*first, again)
    ]

    assert (8, ["all-reduce"]) == (facts[0][0], facts[0][2])
    assert [facts[0]] * 5 == facts


FROM_TENSORFLOW = """
module @a_inference_step_36__.46 attributes {mhlo.cross_program_prefetches = [],
    mhlo.input_output_alias = [{alias = {kind = "may_alias", parameter_index = array<i64>,
    parameter_number = 1 : i64}, output_index = array<i64: 1>}], mhlo.is_dynamic = false} {
  func.func @main(%batch: tensor<256x1024xf32> loc("XLA_Args"),
                  %weights: tensor<1024x1024xf32> loc("XLA_Args"))
      -> (tensor<256x1024xf32>, tensor<1024x1024xf32>) {
    %0 = stablehlo.dot %batch, %weights, precision = [DEFAULT, DEFAULT]
      : (tensor<256x1024xf32>, tensor<1024x1024xf32>) -> tensor<256x1024xf32>
    %1 = stablehlo.subtract %weights, %weights : tensor<1024x1024xf32>
    %2 = mhlo.copy %1 : tensor<1024x1024xf32>
    return %0, %2 : tensor<256x1024xf32>, tensor<1024x1024xf32>
  }
}
"""


def test_a_variable_of_tensorflow_is_updated_in_place(libtpu: str, tmp_path: Path) -> None:
    """The variable of TensorFlow 2.20's compiler IR is aliased, and its arguments have no names."""
    file = tmp_path / "step.mlir"
    file.write_text(FROM_TENSORFLOW)
    result = only(rehearse(libtpu, ids=(str(file),)))
    arguments = [one["op"] for one in result["buffers"] if "argument" == one["kind"]]

    assert (5 * 2**20, 4 * 2**20) == (result["memory"]["arguments"], result["memory"]["aliased"])
    assert ["", ""] == arguments


def test_example_of_the_reference_passes_and_can_fail(libtpu: str, tmp_path: Path) -> None:
    """The reference's example passes, and fails with a batch that is 1,000 times as large."""
    if libtpu != sys.executable:
        pytest.skip("tpustarter is not installed beside the TPU compiler, as it is in the lane.")
    example = (SAMPLES / "rehearsal" / "example_fits.py").read_text()
    for text, code in ((example, 0), (example.replace("4096", "4096000"), 1)):
        (tmp_path / "test_fits.py").write_text(text)
        words = [libtpu, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_fits.py"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

        assert code == done.returncode, done.stdout

"""The user's own files and scripts, lowered by a real JAX, compiled by a stand-in."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jsonschema
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import tpustarter
from tests.checking.test_runner import until_ended
from tests.support.stub_compiler import SAMPLES
from tests.support.stubs import make_python
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.rehearsal.compile import lowering
from tpustarter.rehearsal.programs.rehearsal_request import (
    RehearsalRequest,
    ScriptLimit,
    parse_limit,
)
from tpustarter.rehearsal.programs.user_program import ScriptOutput
from tpustarter.rehearsal.run import Rehearsal
from tpustarter.rehearsal.text import script_text

BAD = SAMPLES / "rehearsal_bad"
SCHEMA = json.loads(resources.files("tpustarter.rehearsal").joinpath("schema.json").read_text())

UNUSABLE = {
    # name of the file: words of the error
    "syntax_error": "syntax_error.py:5: SyntaxError: invalid syntax",
    "raises_when_loaded": "raises_when_loaded.py:3: FileNotFoundError: no data\\x1b[31m "
    "(a line outside of every function led there; what is below",
    "imports_what_is_missing": "No module named 'a_package_that_is_not_there'",
    "exits_when_loaded": "SystemExit: 3",
    "dies_when_loaded": "the process was ended by SIGKILL",
    "lists_nonsense": "expected (name, function, arguments), found a tuple ('step'",
}
MANY = {
    # name of the program: status, words of the reason
    "fine": ("compiles", ""),
    "raises": ("error", "many.py:17: ValueError: no \x1b[31mluck[bold]"),
    "needs_values": ("error", "many.py:21: TracerBoolConversionError"),
    "needs_another_shape": ("error", "many.py:25: TypeError: dot_general"),
    "calls_back": ("error", "it calls back into Python (`jax.debug.print` or a callback)"),
    "reads": ("error", "many.py:34: EOFError"),
    "prints": ("compiles", ""),
    "has_no_rule": ("refused", "rule for primitive 'eig' not found for platform tpu"),
    "name \x1b[31m[bold]\nof two lines": ("compiles", ""),
    "static": ("compiles", ""),
    "donated": ("compiles", ""),
    "tree": ("compiles", ""),
    "method": ("compiles", ""),
    "argument is no tuple": ("error", "the arguments are a ShapeDtypeStruct, expected a tuple"),
    "no function": ("error", "TypeError"),
    "last": ("compiles", ""),
}


def rehearse(stub: str, **asked: Any) -> tuple[Rehearsal, bytes]:
    """Rehearse with this Python as the user's; return the rehearsal and its output."""
    asked = {"tpus": ("v5e-8",), "jobs": 1, "python": sys.executable, **asked}
    rehearsal = Rehearsal(RehearsalRequest(compiler=stub, **asked))
    printed = [event.data for event in rehearsal.events() if isinstance(event, ScriptOutput)]
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(rehearsal.document())))
    return rehearsal, b"".join(printed)


@pytest.mark.parametrize("name", sorted(UNUSABLE))
def test_unusable_file_is_one_error(name: str, stub: str) -> None:
    """A file that can't be used is one error on one line, and leaves no process running."""
    with pytest.raises(Problem) as problem:
        rehearse(stub, ids=(str(BAD / f"{name}.py"),))

    assert UNUSABLE[name] in problem.value.full_text
    assert "\n" not in problem.value.full_text
    assert ExitCode.INCONCLUSIVE == problem.value.code
    assert ("`a_package_that_is_not_there`" in (problem.value.hint or "")) == (
        name == "imports_what_is_missing"
    )
    until_ended(str(locations.make_state_folder()))


def test_a_file_without_programs_offers_its_functions() -> None:
    """A file without programs gets the commands for its functions, and nothing is started."""
    with pytest.raises(Problem) as problem:
        Rehearsal(RehearsalRequest(ids=(str(BAD / "has_no_programs.py"),), compiler=sys.executable))

    assert "is given without the function to compile" in problem.value.full_text
    assert (problem.value.hint or "").startswith("name the function to compile")
    assert "has_no_programs.py:step" in (problem.value.hint or "")
    assert ExitCode.USAGE == problem.value.code


def test_type_that_jax_narrows_silently_is_refused(stub: str) -> None:
    """A float64 argument is refused with 64-bit types off: its memory would be that of float32."""
    with pytest.raises(Problem) as problem:
        rehearse(stub, ids=(f"{BAD / 'many.py'}:fine",), arguments=("f64[4,4]",))

    assert "float64 is asked for, and 64-bit types are off: set JAX_ENABLE_X64=1" in (
        problem.value.full_text
    )
    assert isinstance(problem.value, lowering.LoweringProblem)
    assert problem.value.narrows


def test_python_without_jax_gets_install_command(tmp_path: Path, stub: str) -> None:
    """The user's Python is named, for it is not the one that compiles."""
    bare = str(make_python(tmp_path / "bare"))
    with pytest.raises(Problem, match="No module named 'jax'") as problem:
        rehearse(stub, ids=(f"{BAD / 'many.py'}:fine",), arguments=("f32[8]",), python=bare)

    hint = problem.value.hint or ""
    assert f"uv pip install --python {bare} jax` installs `jax` for `{bare}`" in hint
    (next((tmp_path / "bare").glob("lib/python3*/site-packages")) / "pip").mkdir()
    hint = lowering.install_hint("PIL.Image", bare)
    assert f"`{bare} -m pip install pillow` installs" in hint


def test_every_sample_is_used() -> None:
    """Every sample file is used by a test."""
    used = {*UNUSABLE, "has_no_programs", "many", "spread", "script"}
    used |= {
        "asks",
        "broken",
        "explicit",
        "forges",
        "meshes",
        "script_asks",
        "two_slices",
        "wrapped",
    }  # elsewhere

    assert used == {path.stem for path in BAD.glob("*.py")}


def test_failed_lowering_costs_only_its_program(stub: str) -> None:
    """Each program has its own outcome, with the line of the user's file that caused it."""
    rehearsal, _ = rehearse(stub, ids=(str(BAD / "many.py"),))
    found = {one["program"]: (one["status"], one["reason"] or "") for one in rehearsal.results}

    assert set(MANY) == set(found)
    assert {name: status for name, (status, _) in MANY.items()} == {
        name: status for name, (status, _) in found.items()
    }
    assert [] == [name for name, (_, words) in MANY.items() if words not in found[name][1]]
    assert ExitCode.FAILED == rehearsal.exit_code


def test_one_function_is_compiled_for_each_tpu(stub: str) -> None:
    """`FILE.py:FUNCTION` with its arguments is lowered once, and asked of every TPU."""
    rehearsal, _ = rehearse(
        stub, ids=(f"{BAD / 'many.py'}:fine",), arguments=("bf16[4,4]",), tpus=("v5e-8", "v4-8")
    )
    found = [(one["program"], one["tpu"], one["status"]) for one in rehearsal.results]

    assert [("fine", "v4-8", "compiles"), ("fine", "v5e-8", "compiles")] == sorted(
        found, key=lambda one: one[1]
    )


def test_shardings_are_kept_and_listed_for_each_size(stub: str) -> None:
    """An entry point is asked for its programs once for each number of devices."""
    rehearsal, _ = rehearse(stub, ids=(str(BAD / "spread.py"),), tpus=("v5e-8", "v5e-4", "v6e-8"))
    found = sorted((one["program"], one["tpu"], one["devices"]) for one in rehearsal.results)

    assert found == [
        ("all", "v5e-4", 4),
        ("all", "v5e-8", 8),
        ("all", "v6e-8", 8),
        ("two", "v5e-4", 2),
        ("two", "v5e-8", 2),
        ("two", "v6e-8", 2),
    ]


def test_script_runs_unchanged_and_each_function_compiles(stub: str) -> None:
    """A script's output, exit code and jitted functions are reported; its own failures are kept."""
    words = (str(BAD / "script.py"), "--steps", "3")
    rehearsal, printed = rehearse(stub, script=words)
    found = {one.name: (one.calls, one.compilations) for one in rehearsal.functions}
    changed = {one.name: (one.changed, one.where) for one in rehearsal.functions}
    statuses = {one["program"]: one["status"] for one in rehearsal.results}

    assert b"arguments ['--steps', '3'] devices 8 as __main__" in printed
    assert b"to stderr" in printed
    assert ("a new function each time", "script.py:74") == changed["<lambda>"]
    assert ("f32[5,5], then f32[2,2]", "script.py:10") == changed["step"]
    assert ("1=2, then 1=3", "script.py:20") == changed["scaled"]
    assert found == {
        "step": (7, 6),
        "inner": (0, 0),
        "scaled": (3, 2),
        "named": (2, 2),
        "donated": (1, 1),
        "tree": (1, 1),
        "calls_back": (1, 1),
        "has_no_rule": (1, 1),
        "method": (2, 1),
        "<lambda>": (4, 4),
    }
    assert statuses["step(f32[1,1])"] == statuses["scaled(f32[8,8], 1=2)"] == "compiles"
    assert statuses["calls_back(f32[8,8])"] == "error"
    assert statuses["has_no_rule(f32[8,8])"] == "refused"
    assert "it ended with exit code 4" == rehearsal.script_error


LIMITS = {
    "first": (ScriptLimit(most_calls=1), 1),
    "20 calls": (ScriptLimit(most_calls=20), 20),
    "1call": (ScriptLimit(most_calls=1), 1),
    "2": (ScriptLimit(most_s=2.0), None),
}


@pytest.mark.parametrize("typed", LIMITS)
def test_limit_ends_a_script_that_never_ends(typed: str, tmp_path: Path, stub: str) -> None:
    """A limit ends the script before its last call or after seconds; earlier calls compile."""
    script = tmp_path / "train.py"
    script.write_text(
        "import jax\nstep = jax.jit(lambda x: x + 1)\nx = 0.0\n"
        "while True:\n    try:\n        x = step(x)\n        print(int(x), flush=True)\n"
        "    except Exception:\n        pass\n"
    )
    limit, calls = LIMITS[typed]
    rehearsal, printed = rehearse(stub, script=(str(script),), until=limit)
    (function,) = rehearsal.functions

    assert limit == parse_limit(typed)
    assert rehearsal.script_ended_early
    assert {"compiles"} == {one["status"] for one in rehearsal.results}
    assert ExitCode.OK == rehearsal.exit_code
    assert calls in (None, function.calls)
    assert calls in (None, len(printed.split()) + 1)


def test_script_that_catches_all_computes_no_more(tmp_path: Path, stub: str) -> None:
    """A script that catches the exception which ends it still computes no further call."""
    script = tmp_path / "train.py"
    script.write_text(
        "import jax\nstep = jax.jit(lambda x: x + 1)\nx = 0.0\n"
        "for _ in range(9):\n    try:\n        x = step(x)\n    except BaseException:\n"
        "        pass\nprint(int(x))\n"
    )
    rehearsal, printed = rehearse(stub, script=(str(script),), until=ScriptLimit(most_calls=3))

    assert b"2\n" == printed
    assert rehearsal.script_ended_early


def test_zeros_keep_types_and_shardings(tmp_path: Path, stub: str) -> None:
    """Zeros replace results without computing, and cause no shapes but those of a real run."""
    script = tmp_path / "train.py"
    script.write_text(
        "import jax, numpy as np\n"
        "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n"
        "over = NamedSharding(Mesh(np.array(jax.devices()), ('d',)), P('d'))\n"
        "key = jax.jit(jax.random.key)(1)\n"
        "make = lambda key: {'w': jax.random.normal(key, (8, 4))}\n"
        "state = jax.jit(make, out_shardings=over)(key)\n"
        "step = jax.jit(lambda state: jax.tree.map(lambda x: x + 1, state))\n"
        "for _ in range(9):\n    state = step(state)\n"
        "print(float(abs(state['w']).sum()), state['w'].sharding.spec, state['w'].dtype)\n"
    )
    rehearsal, printed = rehearse(stub, script=(str(script),), until=ScriptLimit(zeros=True))
    calls = [(one.calls, one.compilations) for one in rehearsal.functions]

    assert None is rehearsal.script_error
    assert 1 == len(script_text.list_remarks(rehearsal))
    assert b"0.0 PartitionSpec('d',) float32" == printed.strip().replace(b"P(", b"PartitionSpec(")
    assert [(1, 1), (1, 1), (9, 1)] == calls


def test_zeros_outlive_donation_by_compiled_function(tmp_path: Path, stub: str) -> None:
    """Zeros remain usable after a function that the script compiles itself has donated some."""
    script = tmp_path / "train.py"
    script.write_text(
        "import jax, jax.numpy as jnp\n"
        "make = jax.jit(lambda x: {'w': x + 1})\n"
        "other = jax.jit(lambda x: x + 2)\n"
        "donating = jax.jit(lambda x: x + 3, donate_argnums=0)\n"
        "state = make(jnp.ones(8))\n"
        "computed = donating.lower(state['w']).compile()(state['w'])\n"
        "values = computed, make(jnp.ones(8))['w'], other(jnp.ones(8))\n"
        "print(state['w'].is_deleted(), *(int(value[0]) for value in values))\n"
    )
    rehearsal, printed = rehearse(stub, script=(str(script),), until=ScriptLimit(zeros=True))

    assert None is rehearsal.script_error
    assert b"True 3 0 0\n" == printed


PMAPPED = """
import functools, jax, jax.numpy as jnp

@functools.partial(jax.pmap, axis_name="all", in_axes=({"w": 0}, None, 1, None),
                   static_broadcasted_argnums=3, donate_argnums=0)
def step(params, scale, x, power):
    gradient = jax.lax.pmean((x * scale**power).sum(), "all")
    return {"w": params["w"] + gradient}

params = {"w": jnp.zeros((8, 128))}
for _ in range(3):
    params = step(params, 2.0, jnp.ones((4, 8)), 3)
print(float(params["w"].sum()), len(params["w"].sharding.device_set))
"""


@pytest.mark.parametrize("zeros", [False, True])
def test_pmapped_function_is_program_of_all_devices(
    tmp_path: Path, stub: str, *, zeros: bool
) -> None:
    """Each device gets its part of the mapped arguments, and a repeated call is no new program."""
    script = tmp_path / "train.py"
    script.write_text(PMAPPED)
    rehearsal, printed = rehearse(stub, script=(str(script),), until=ScriptLimit(zeros=zeros))
    (result,) = rehearsal.results
    (function,) = rehearsal.functions

    assert None is rehearsal.script_error
    assert [b"0.0" if zeros else b"98304.0", b"8"] == printed.split()
    assert "step(1 arrays in a dict, f32[8,128], float, f32[4,8], 3=3)" == result["program"]
    assert ("compiles", 8) == (result["status"], result["devices"])
    assert (3, 1) == (function.calls, function.compilations)


def test_same_program_has_stored_answer_in_next_run(tmp_path: Path, stub: str) -> None:
    """The same file or script has the same program in the next run, whose answer is stored."""
    file = tmp_path / "train.py"
    file.write_text("import jax\n\ndef step(x):\n    return x * 2\n\njax.jit(step)(1.0)\n")
    requests = ({"script": (str(file),)}, {"ids": (f"{file}:step",), "arguments": ("f32[]",)})
    answers = [rehearse(stub, **asked)[0].results[0] for asked in requests for _ in range(2)]

    assert [False, True] * 2 == [answer["cached"] for answer in answers]


@pytest.mark.parametrize("typed", ["", "0", "calls", "-1", "1.5 calls", "ten", "1" * 10])
def test_what_is_no_limit_is_refused(typed: str) -> None:
    """Text that isn't a limit is refused as a usage error."""
    with pytest.raises(Problem) as problem:
        parse_limit(typed)

    assert ExitCode.USAGE == problem.value.code


def test_a_script_that_breaks_off_is_no_success(tmp_path: Path, stub: str) -> None:
    """A script that raises is inconclusive, though what it jitted until then is compiled."""
    script = tmp_path / "train.py"
    script.write_text("import jax\njax.jit(lambda x: x)(1.0)\nraise ValueError('no data')\n")
    rehearsal, _ = rehearse(stub, script=(str(script),))

    assert "train.py:3: ValueError: no data" == rehearsal.script_error
    assert "" == rehearsal.script_missing
    assert ["compiles"] == [one["status"] for one in rehearsal.results]
    assert ExitCode.INCONCLUSIVE == rehearsal.exit_code


def test_script_names_the_module_it_lacks(tmp_path: Path, stub: str) -> None:
    """The name is that of the exception, so that its package can be offered."""
    script = tmp_path / "train.py"
    script.write_text("import sklearn.no_such_part\n")
    rehearsal, _ = rehearse(stub, script=(str(script),))
    (remark,) = script_text.list_remarks(rehearsal)

    assert rehearsal.script_missing.startswith("sklearn")
    assert "installs `scikit-learn` for" in (remark[1] or "")


def test_untraceable_function_is_not_compiled(tmp_path: Path, stub: str) -> None:
    """A call that can't be traced is only counted; a later one that can be is compiled."""
    script = tmp_path / "train.py"
    script.write_text(
        "import jax\n\n@jax.jit\ndef step(x):\n    return x if x.ndim else bool(x)\n\n"
        "try:\n    step(1.0)\nexcept jax.errors.TracerBoolConversionError:\n"
        "    print(step(jax.numpy.ones(3)))\n"
    )
    rehearsal, _ = rehearse(stub, script=(str(script),))

    assert [(2, 1)] == [(one.calls, one.compilations) for one in rehearsal.functions]


def test_the_output_of_a_script_never_reaches_stdout(tmp_path: Path, stub: str) -> None:
    """With `--json`, stdout has only the document; the script's own output goes to stderr."""
    script = tmp_path / "train.py"
    script.write_text("import jax\nprint('hello from the script')\njax.jit(lambda x: x)(1.0)\n")
    words = [
        sys.executable,
        "-m",
        "tpustarter",
        "rehearse",
        "--script",
        str(script),
        "--tpu",
        "v5e-8",
        "--compiler",
        stub,
        "--python",
        sys.executable,
        "--json",
    ]
    root = str(Path(tpustarter.__file__).parents[1])
    # By folder, not by PYTHONPATH: that would show the stub's Python what is installed here.
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, cwd=root)

    assert 0 == done.returncode, done.stderr
    assert ["compiles"] == [one["status"] for one in json.loads(done.stdout)["results"]]
    assert "hello from the script" in done.stderr


def twice(x: Any, *, times: int = 2) -> Any:
    """Return x as often as asked for."""
    return x * times


def too_big(x: Any) -> Any:
    """Return `x` plus 1; the stand-in compiler has no memory for this function."""
    return x + 1


def test_python_api_answers_for_user_tests(stub: str) -> None:
    """Arrays, abstract arrays and pytrees are arguments; the answer has the compiler's figures."""
    small, again = (
        tpustarter.rehearse(twice, jnp.ones(3), tpu="v5e-8", compiler=stub) for _ in range(2)
    )
    abstract = jax.ShapeDtypeStruct((8, 8), "bfloat16")
    big = tpustarter.rehearse(too_big, abstract, tpu="v6e-8", compiler=stub)

    assert (True, "twice", 11264, False) == (
        small.compiled,
        small.program,
        small.hbm_bytes,
        small.cached,
    )
    assert (False, "does-not-fit") == (big.compiled, big.status)
    assert (18 * 2**30, 5) == (big.hbm_bytes, len(big.buffers))
    assert again.cached is True


def test_python_api_raises_error_of_function(stub: str) -> None:
    """An error of the function is its own, and one of the request is a Problem."""
    with pytest.raises(TypeError, match="dot_general"):
        tpustarter.rehearse(lambda x: x @ x, jnp.ones((2, 3)), tpu="v5e-8", compiler=stub)
    with pytest.raises(Problem, match="did you mean `v5e-8`"):
        tpustarter.rehearse(twice, 1.0, tpu="v5e-9", compiler=stub)
    over = NamedSharding(Mesh(np.array(jax.devices()), ("d",)), PartitionSpec("d"))
    x = jax.ShapeDtypeStruct((8,), "float32", sharding=over)
    with pytest.raises(Problem, match="for v5e-1: it needs 8 devices, and v5e-1 has 1"):
        tpustarter.rehearse(twice, x, tpu="v5e-1", compiler=stub)
    with pytest.raises(Problem, match="`/nope`"):
        tpustarter.rehearse(twice, 1.0, tpu="v5e-8", compiler="/nope")

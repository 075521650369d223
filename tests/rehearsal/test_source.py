"""The facts that are read from a user's file without running it, and the commands they give."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path

import pytest

from tpustarter.core.problem import ExitCode, Problem
from tpustarter.rehearsal.programs import file_functions, resolve, suggestions, user_program
from tpustarter.rehearsal.programs.user_program import parse_argument

TRAIN = """
from functools import partial
import jax
import jax.numpy as jnp

raise SystemExit("this file is read, not run")

@jax.jit
def step(weights, batch):
    return weights @ batch

@partial(jax.jit, static_argnames=("n",))
def repeat(x, n):
    return x * n

def loss(params, x, y, *, rate=0.1):
    return params

fast = jax.jit(loss)
square = jax.jit(lambda x: x @ x)

def scaled(x, *, by):
    return x * by

@some_decorator
def decorated(x):
    return x

def _hidden(x):
    return x

def programs_of(devices):
    return []
"""


@pytest.fixture
def train(tmp_path: Path) -> Path:
    """Return a file that must not be run."""
    path = tmp_path / "train.py"
    path.write_text(TRAIN)
    return path


def problem_of(path: Path, function: str, *given: str, tpus: tuple[str, ...] = ()) -> Problem:
    """Return the problem that keeps a function of a file from being rehearsed."""
    with pytest.raises(Problem) as problem:
        resolve.verify_function_and_arguments(
            user_program.parse_function(f"{path}:{function}", given), "train.py", given, tpus
        )
    assert ExitCode.USAGE == problem.value.code
    return problem.value


def test_functions_are_listed_with_jit_options(train: Path) -> None:
    """Jitted ones are among them, also those that are only assigned."""
    read = file_functions.read_source(train)
    assert read is not None
    names = {one.name: (one.needed, one.jitted) for one in read.functions}

    assert {
        "step": (("weights", "batch"), True),
        "repeat": (("x", "n"), True),
        "loss": (("params", "x", "y"), False),
        "fast": (("params", "x", "y"), True),
        "square": (("x",), True),
        "scaled": (("x", "by"), False),
        "decorated": (("x",), False),
        "programs_of": (("devices",), False),
    } == names


@pytest.mark.parametrize(
    ("function", "given", "what", "hint"),
    [
        (
            "step",
            (),
            "needs an `--arg` for `weights` and `batch`",
            "train.py:step --arg 'f32[1024,1024]' --arg 'f32[1024,1024]'",
        ),
        (
            "step",
            ("bf16[8,8]",),
            "needs an `--arg` for `batch`",
            "train.py:step --arg 'bf16[8,8]' --arg 'bf16[8,8]'",
        ),
        (
            "step",
            ("f32[8]",) * 3,
            "takes 2 arguments by position, and 3 were given",
            "train.py:step --arg 'f32[8]' --arg 'f32[8]' --tpu v6e-8`",
        ),
        ("fast", (), "`params`, `x` and `y`", "train.py:fast --arg 'make_params()' --arg"),
        ("repeat", ("f32[8]",), "an `--arg` for `n`", "train.py:repeat --arg 'f32[8]' --arg 1"),
        ("scaled", ("f32[8]",), "an `--arg` for `by`", "--arg 'by=f32[1024,1024]'"),
        ("step", ("made(f32[8])", "f32[8]"), "has no `made`", "write a function `made`"),
        ("step", ("repaet(f32[8])", "f32[8]"), "has no `repaet`", "did you mean `repeat`?"),
        ("steps", (), "`train.py` has no function `steps`", "train.py:step --arg"),
        (
            "programs",
            (),
            "is given without the function to compile",
            "\n  tpustarter rehearse train.py:step",
        ),
    ],
)
def test_every_error_ends_with_command(
    function: str, given: tuple[str, ...], what: str, hint: str, train: Path
) -> None:
    """Every error names the missing arguments and ends with a command that gives examples."""
    problem = problem_of(train, function, *given, tpus=("v6e-8",))

    assert what in problem.full_text
    assert hint in (problem.hint or "")
    assert ("--tpu v6e-8" in (problem.hint or "")) == ("rehearse" in (problem.hint or ""))


MODEL = """
import jax, optax

CONFIG = {"width": 8}
optimizer = optax.adam(1e-3)

def init(key, config, scale):
    return key

def init_state(rng, params):
    return params

def init_loop(loop):
    return loop

@jax.jit
def train_step(params, opt_state, x, *, deterministic):
    return params

def decode(cache, token, Config):
    return cache

def resume(state, loop, graphdef):
    return state

make = jax.jit(build(1))
"""
GUESSED = {
    "train_step": (
        "init(u32[2],CONFIG,0.1)",
        "optimizer.init(init(u32[2],CONFIG,0.1))",
        "f32[1024,1024]",
        "deterministic=True",
    ),
    "make": (),
    "init": ("u32[2]", "CONFIG", "f32[]"),
    "init_state": ("u32[2]", "init(u32[2],CONFIG,0.1)"),
    "init_loop": ("f32[1024,1024]",),
    "decode": ("make_cache()", "s32[8,1024]", "CONFIG"),
    "resume": (
        "init_state(u32[2],init(u32[2],CONFIG,0.1))",
        "f32[1024,1024]",
        "make_graphdef()",
    ),
}


def test_arguments_are_guessed_from_file(tmp_path: Path) -> None:
    """Its initialisers make what is nested; what nothing makes is a function to write."""
    file = tmp_path / "model.py"
    file.write_text(MODEL)
    read = file_functions.read_source(file)
    assert read is not None
    programs = suggestions.suggest_programs(read, "model.py")
    examples = {
        one.function.name: tuple(example.text for example in one.examples)
        for one in programs
        if one.function
    }
    missing = {
        example.name: example.missing
        for one in programs
        for example in one.examples
        if example.missing
    }

    assert GUESSED == examples
    assert list(GUESSED) == list(examples)  # jitted ones first
    assert {"cache": "make_cache", "graphdef": "make_graphdef"} == missing
    assert {"make", "train_step", "init_state", "decode", "resume"} == {
        one.function.name for one in programs if one.function and one.notes
    }
    for one in programs:
        given = tuple(b for a, b in itertools.pairwise(shlex.split(one.command)) if a == "--arg")
        assert given == tuple(example.text for example in one.examples)
        assert all(parse_argument(text) for text in given)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        ("step", ("f32[8]", "f32[8]")),
        ("programs_of", ()),
        ("decorated", ()),
        ("loss", ("f32[]",) * 3),
    ],
)
def test_unclear_signature_is_left_to_python_process(
    function: str, given: tuple[str, ...], train: Path
) -> None:
    """A decorated or unclear signature isn't refused, but left to the file's process."""
    resolve.verify_function_and_arguments(
        user_program.parse_function(f"{train}:{function}", given), "train.py", given, ()
    )


@pytest.mark.parametrize(
    "line",
    [
        "from other import *",
        "from other import later",
        "later = make()",
        "globals()['later'] = 1",
    ],
)
def test_imported_name_is_not_refused(line: str, tmp_path: Path) -> None:
    """An imported name isn't refused, because only the file's process can know it."""
    path = tmp_path / "train.py"
    path.write_text(f"import jax\n{line}\n")

    resolve.verify_function_and_arguments(
        user_program.parse_function(f"{path}:later", ()), "train.py", (), ()
    )


def test_a_script_without_jit_says_so(tmp_path: Path) -> None:
    """A file with no function and no `jax.jit` is reported as a script to run with `--script`."""
    path = tmp_path / "train.py"
    path.write_text("print('hello')\n")
    problem = problem_of(path, "programs")

    assert "defines no function, and has no `jax.jit`" in problem.full_text
    assert "`tpustarter rehearse --script train.py`" in (problem.hint or "")


def test_the_commands_that_are_offered_can_be_followed(train: Path) -> None:
    """Each is read by the command line itself, and needs nothing more; jitted ones come first."""
    read = file_functions.read_source(train)
    assert read is not None
    offers = [
        shlex.split(one) for one in suggestions.suggest_commands(read, str(train), ("v6e-8",))
    ]
    names = [words[2].rpartition(":")[2] for words in offers]

    assert ["step", "repeat", "fast", "square", "loss", "scaled", "decorated"] == names[:-1]
    assert ["programs_of"] == names[-1:]
    for words in offers:
        if "make_params()" in words:  # it says that this is still to be written
            continue
        given = tuple(b for a, b in itertools.pairwise(words) if a == "--arg")
        resolve.verify_function_and_arguments(
            user_program.parse_function(words[2], given), words[2], given, ()
        )


def test_only_jax_programs_are_listed_despite_unreadable_files(tmp_path: Path) -> None:
    """Only JAX programs are listed; unreadable, too large and unrelated files are left out."""
    files = {
        "train.py": "import jax\ndef f(x): return x\n",
        "plain.py": "def f(x): return x\n",
        "broken.py": "import jax\ndef f(:\n",
        "latin.py": "# -*- coding: nonsense -*-\nimport jax\n",
        "large.py": f"import jax\nx = '{'a' * file_functions.MOST_BYTES}'\ndef f(x): return x\n",
        "deep.py": f"import jax\nx = {'(' * 5000}1{')' * 5000}\n",
        "nothing.py": "import jax\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "nul.py").write_bytes(b"import jax\0")

    assert ["train.py"] == [one.path.name for one in file_functions.find_program_files(tmp_path)]
    assert [] == file_functions.find_program_files(tmp_path / "none")


def test_script_importing_own_model_is_offered(tmp_path: Path) -> None:
    """A script that imports its own JAX model is offered, though it names neither JAX nor jit."""
    (tmp_path / "model.py").write_text("import jax\n\n\n@jax.jit\ndef step(x):\n    return x\n")
    (tmp_path / "train.py").write_text("import model\n\nfor _ in range(3):\n    model.step(1.0)\n")
    (tmp_path / "tools.py").write_text(
        "import model\n\n\ndef main():\n    return model.step(1.0)\n"
    )
    sources = file_functions.find_program_files(tmp_path)

    assert ["model.py", "train.py"] == [one.path.name for one in sources]
    assert ["tpustarter rehearse --script train.py"] == suggestions.suggest_commands(
        sources[1], "train.py"
    )

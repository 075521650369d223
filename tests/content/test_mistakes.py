"""Mistakes in a user's program: recognised, and not confused with TPU failures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.failures import explain
from tpustarter.core.problem import Problem
from tpustarter.explain import (
    explanation_document,
    explanation_text,
    program_mistakes,
)

JAX = "import jax, jax.numpy as jnp\n"
PROGRAMS = {
    "x = (1, 2": "could not read the program",
    "if True:\nprint(1)": "could not read the program",
    "print(jnp.ones(3))": "the short name of a package that nothing has imported",
    "print(batch)": "a name that had no value yet",
    "import a_module_of_mine": "no file next to the program",
    "from json import laods": "holds no such name",
    "import json\njson.laods": "no attribute of that name",
    "{}['lr']": "no such key",
    "def f(x): pass\nf()": "arguments that it does not take",
    "len(None)": "should be a value is None",
    "1 / 0": "divided by zero",
    "open('no-such-file')": "does not lead to what the program expects",
    f"{JAX}jnp.ones((8, 3)) @ jnp.ones((4, 8))": "A product of matrices",
    f"{JAX}jnp.ones(3) + jnp.ones(4)": "from the right",
    f"{JAX}jnp.arange(6).reshape(4, 2)": "keeps the number of elements",
    f"{JAX}jax.grad(lambda x: x)(jnp.ones(3))": "a function that returns one number",
    f"{JAX}jax.grad(lambda x: x * 1.0)(3)": "Only numbers with a fraction",
    f"{JAX}import numpy\nnumpy.nothing": "no attribute of that name",
    f"{JAX}jnp.einsum('ij,jk->ik', jnp.ones((2, 3)), jnp.ones((4, 4)))": "A letter of",
    f"{JAX}jnp.stack([jnp.ones(3), jnp.ones(4)])": "can be joined",
    f"{JAX}jax.vmap(lambda x, y: x)(jnp.ones(3), jnp.ones(4))": "the same length in all of them",
    f"{JAX}jnp.ones(3)['loss']": "something that it does not take",
    f"{JAX}jnp.sin('abc')": "something that it does not take",
    f"{JAX}jax.jit(lambda training: 1, static_argnames='traning')(True)": "does not take",
    "'1' + 1": "does something with a value",
}
"""Programs that are wrong, and a part of what is said of each."""


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_real_python_and_jax_errors_are_recognised(tmp_path: Path, program: str) -> None:
    """The messages are those of the installed versions of Python and JAX."""
    if JAX in program:
        pytest.importorskip("jax")
    file = tmp_path / "train.py"
    file.write_text(f"{program}\n")
    env = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, str(file)], check=False, capture_output=True, env=env, timeout=120
    )
    found = explain(done.stderr)
    text = " ".join(explanation_text.render_explanation(found).split())

    assert not found.matches
    assert PROGRAMS[program] in text, done.stderr.decode()
    assert found.mistake is not None
    last = program.rpartition("\n")[2]
    assert f"train.py, line {program.count(chr(10)) + 1}: {last}" in text
    assert "slice" not in text
    assert not explanation_document.make_json_document(found)["matches"]


def test_tpu_failure_is_no_program_mistake() -> None:
    """A traceback that ends with a common error can follow from a TPU failure."""
    log = (
        b"Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by process with "
        b"pid 4242. Not attempting to load libtpu.so in this process.\n"
        b"Traceback (most recent call last):\n"
        b'  File "train.py", line 3, in <module>\n    devices["tpu"]\nKeyError: \'tpu\'\n'
    )
    found = explain(log)

    assert found.matches
    assert found.mistake is None


def test_known_mistake_is_named_with_program_line() -> None:
    """The explanation quotes the user's line only if the traceback of that error contains it."""
    tracer = "jax.errors.TracerBoolConversionError: Attempted boolean conversion of traced array"
    traceback = (
        "Traceback (most recent call last):\n"
        '  File "/home/ann/train.py", line 5, in step\n    if loss > 0:\n'
        '  File "/home/ann/.venv/lib/python3.12/site-packages/jax/core.py", line 9, in __bool__\n'
        "    raise error\n"
    )
    found = explain(f"{traceback}{tracer}\n".encode())

    assert "where   train.py, line 5: if loss > 0:\n" in explanation_text.render_explanation(found)
    assert (
        "train.py, line 5: if loss > 0:"
        == explanation_document.make_json_document(found)["own_line"]
    )
    for log in (f"{tracer}\n", f"{tracer}\n{traceback}ValueError: another\n"):
        found = explain(log.encode())
        assert found.matches
        assert not found.own_line
        assert "\nwhere " not in explanation_text.render_explanation(found)


def test_package_failing_by_itself_is_no_program_mistake() -> None:
    """An error inside a package is not the user's mistake, unless it is about shapes."""
    above = (
        b"Traceback (most recent call last):\n"
        b'  File "/home/ann/train.py", line 3, in <module>\n    step(x)\n'
        b'  File "/home/ann/.venv/lib/python3.12/site-packages/lib/core.py", line 9, in step\n'
        b"    return self.backends[name]\n"
    )

    assert explain(above + b"KeyError: 'tpu_v9'\n").mistake is None
    shapes = explain(above + b"TypeError: cannot reshape array of size 6 into shape (4, 2)\n")
    assert shapes.mistake is not None
    assert ("train.py, line 3", "step(x)") == (shapes.mistake.place, shapes.mistake.code)


KERAS = b"""Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "/home/ann/tpu-keras/lib/python3.12/site-packages/keras/__init__.py", line 7, in <module>
    from keras import _tf_keras as _tf_keras
  File "/home/ann/tpu-keras/lib/python3.12/site-packages/keras/src/tree/optree_impl.py", line 13
    from tensorflow.python.trackable.data_structures import ListWrapper
ModuleNotFoundError: No module named 'tensorflow'
"""
"""What `python -c "import keras"` says where Keras stands beside JAX alone."""


def test_keras_without_tensorflow_gets_backend_hint() -> None:
    """The hint sets the backend to JAX instead of installing TensorFlow."""
    text = " ".join(explanation_text.render_explanation(explain(KERAS)).split())

    assert "export KERAS_BACKEND=jax" in text
    assert "learn tensorflow/keras-on-jax" in text
    assert "where <string>, line 1 Keras" in text
    assert "pip install" not in text


def test_direct_tensorflow_import_gets_package_hint() -> None:
    """The user's own import of TensorFlow gets the set-up, not the hint on Keras."""
    log = (
        b"Traceback (most recent call last):\n"
        b'  File "/home/ann/train.py", line 1, in <module>\n    import tensorflow as tf\n'
        b"ModuleNotFoundError: No module named 'tensorflow'\n"
    )
    text = explanation_text.render_explanation(explain(log))

    assert "setup tensorflow" in text
    assert "KERAS_BACKEND" not in text


def test_ambiguous_error_is_no_mistake() -> None:
    """A RuntimeError alone is not attributed to the program."""
    assert explain(b"RuntimeError: something broke\n").mistake is None


def test_unusable_row_is_one_error(tmp_path: Path) -> None:
    """The error names the bad row and its fault."""
    file = tmp_path / "mistakes.yml"
    file.write_text("- {error: '(', means: a, fix: b, source: c}\n")
    with pytest.raises(Problem, match=r"the row `1`.*is no pattern"):
        program_mistakes.read_program_mistakes(file)


@pytest.mark.parametrize(
    ("program", "command"),
    [
        ("import torch", "tpustarter setup pytorch-xla"),
        ("import torch_xla.core.xla_model", "tpustarter setup pytorch-xla"),
        ("import jax.numpy as jnp", "tpustarter setup jax"),
        ("import einops", "In the Python of this program, run `python -m pip install einops`."),
        ("!pip install optax", ""),
        ("  %timeit f(x)", ""),
    ],
)
def test_missing_package_names_its_command(program: str, command: str) -> None:
    """Frameworks name their set-up, packages their install command, and magics themselves."""
    name = program.split()[1].partition(".")[0]
    error = "SyntaxError: invalid syntax"
    if command:
        error = f"ModuleNotFoundError: No module named '{name}'"
    found = explain(f'  File "block", line 1\n    {program}\n    ^\n{error}\n'.encode())

    assert found.mistake
    assert command == found.mistake.command
    assert ("notebooks" in found.mistake.mistake.means) == (not command)

"""Lessons of each kind run as notebooks, in a kernel as Jupyter has; none of it on a TPU.

A block that asks to be changed is wrong as shipped. Exercises fail as shipped, by their assertion,
and pass with the solution that stands below.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="This Python has no Jupyter; the lane's has.")
nbclient = pytest.importorskip("nbclient", reason="This Python has no Jupyter; the lane's has.")
if not importlib.util.find_spec("keras"):
    pytest.skip("This Python has no Keras; the lane's has.", allow_module_level=True)

from tests.support import shipped  # noqa: E402  nothing of it without Keras
from tpustarter.core.content import Lesson  # noqa: E402
from tpustarter.learning.content import exercises  # noqa: E402
from tpustarter.learning.content.blocks import list_blocks  # noqa: E402
from tpustarter.learning.run.expected_output import describe_mismatch  # noqa: E402

HERE = "tensorflow" if importlib.util.find_spec("tensorflow") else "keras"
"""Keras with JAX is in an environment without TensorFlow."""
RUN = {
    "tensorflow/running-locally",
    "tensorflow/static-shapes",
    "tensorflow/saving",
    "tensorflow/keras-on-jax",
}
"""Those with what everybody began with on Colab, and the one of Keras.

The blocks and exercises of all lessons run in `test_lessons.py`. `tests/content` shows that the
notebook of none lacks a block, and runs one with files of its own.
"""
LESSONS = [one for one in shipped.lessons(HERE) if one.id in RUN]
THE_THREE = {"measure-flops", "classify-clothing", "predict-shakespeare"}
"""What everybody began with on Colab: FLOPS, Fashion-MNIST and Shakespeare."""


@pytest.mark.skipif(HERE == "keras", reason="They are of TensorFlow, which has no lessons here.")
def test_colab_notebooks_are_among_exercises() -> None:
    """The three Colab notebooks are exercises, so they run as notebooks below."""
    names = {one.name for lesson in LESSONS for one in exercises.read_exercises(lesson)}

    assert names >= THE_THREE


def printed(cell: Any) -> str:
    """Return a cell's stdout, without the lines that TensorFlow logs there in a notebook."""
    text = "".join(one["text"] for one in cell.outputs if one.get("name") == "stdout")
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(("INFO:", "WARNING:")))


def errors(cell: Any) -> list[str]:
    """Return the names of a cell's exceptions: one, or none."""
    return [one["ename"] for one in cell.outputs if one.output_type == "error"]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: one.id)
def test_notebook_prints_lesson_output_and_judges_exercises(lesson: Lesson, tmp_path: Path) -> None:
    """Written by the command line, and run from its first cell to its last."""
    file = tmp_path / "lesson.ipynb"
    command = [sys.executable, "-m", "tpustarter", "learn", lesson.id, "--notebook", str(file)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    book = nbformat.read(file, as_version=4)
    client = nbclient.NotebookClient(
        book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    with client.setup_kernel():
        for index, cell in enumerate(book.cells):
            client.execute_cell(cell, index)  # raises, but where a cell is there to fail
        for block in list_blocks(lesson):
            cell = next(cell for cell in book.cells if cell.source == block.code.rstrip("\n"))
            expected = block.expected_on("cpu")
            if expected:
                differs = errors(cell) or describe_mismatch(expected, printed(cell))
                assert bool(differs) == block.is_try, (block.id, printed(cell))
        for one in exercises.read_exercises(lesson):
            index = next(
                n for n, cell in enumerate(book.cells) if one.judged.rstrip("\n") in cell.source
            )
            assert errors(book.cells[index]) == ["AssertionError"], one.id
            solved = nbformat.v4.new_code_cell(one.solution + one.judged)
            client.execute_cell(solved, index)

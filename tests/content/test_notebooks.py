"""Every lesson as a notebook with all its blocks; two are run in a real kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.learning.test_notebook import LESSONS, notebook_is_whole
from tests.support.compiler_flags import fast_compiler
from tpustarter.core.content import Lesson
from tpustarter.learning.content.blocks import list_blocks

RUN = ["jax/how-fast", "project/the-project"]
"""One that draws, and one with files of its own."""
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
for file in sys.argv[1:]:
    book = nbformat.read(file, as_version=4)
    NotebookClient(book, timeout=600, kernel_name="python3").execute()
    nbformat.write(book, file)
"""


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.id)
def test_every_lesson_is_a_valid_notebook(lesson: Lesson) -> None:
    """Every lesson gives a valid notebook with all its blocks and no link to a file."""
    notebook_is_whole(lesson)


def test_notebooks_run_in_real_kernel_with_lesson_output(tmp_path: Path) -> None:
    """Notebooks written by the command line run in a kernel each, as Jupyter runs them."""
    lessons = [next(one for one in LESSONS if one.id == name) for name in RUN]
    files = [tmp_path / f"{lesson.id.replace('/', '-')}.ipynb" for lesson in lessons]
    for lesson, file in zip(lessons, files, strict=True):
        command = [sys.executable, "-m", "tpustarter", "learn", lesson.id, "--notebook", str(file)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    env = {**os.environ, **fast_compiler(), "JAX_PLATFORMS": "cpu"}
    run = [sys.executable, "-c", EXECUTE, *map(str, files)]
    subprocess.run(run, check=True, env=env, cwd=tmp_path)  # where files of a lesson are written
    for lesson, file in zip(lessons, files, strict=True):
        first = list_blocks(lesson)[0]
        cells = json.loads(file.read_text())["cells"]
        found = next(cell for cell in cells if "".join(cell["source"]) == first.code.rstrip("\n"))
        expected = first.expected_on("cpu")
        printed = "".join(found["outputs"][0]["text"])

        assert expected is not None, lesson.id
        assert printed.split()[:1] == expected.text.split()[:1], lesson.id
        drawn = [cell for cell in cells if "plt.show()" in "".join(cell["source"])]
        shown = [output["data"] for cell in drawn for output in cell["outputs"] if "data" in output]
        assert len(drawn) == sum(1 for block in list_blocks(lesson) if block.plot), lesson.id
        assert all("image/png" in data for data in shown), lesson.id
        assert len(shown) == len(drawn), lesson.id

"""Lessons as Jupyter notebooks: valid, complete, and run in a real kernel."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import nbformat
import pytest

from tests.learning.test_exercises import lesson_with, shipped
from tests.support import copies
from tests.support.made_lessons import fence, make_lesson
from tpustarter.core import content
from tpustarter.core.content import Lesson
from tpustarter.learning.content import notebook
from tpustarter.learning.content.blocks import list_blocks, parse_lesson

LESSONS = content.read_lessons()
KINDS = ["jax/how-fast", "start/what-you-get", "project/train-it", "pytorch/precision"]


def sources(lesson: Lesson, kind: str) -> list[str]:
    """Return the texts of a notebook's cells of one kind."""
    cells = json.loads(notebook.render_notebook(lesson))["cells"]
    return [cell["source"] for cell in cells if cell["cell_type"] == kind]


def notebook_is_whole(lesson: Lesson) -> None:
    """Assert that a notebook is valid, has every block, and links to no file."""
    nbformat.validate(nbformat.reads(notebook.render_notebook(lesson), as_version=4))
    code = sources(lesson, "code")

    assert [one.code.rstrip("\n") for one in list_blocks(lesson)] == [
        one for one in code if one in {block.code.rstrip("\n") for block in list_blocks(lesson)}
    ]
    to_file = re.compile(r"\]\((?!https://)[^)]*\.md[)#]")
    assert not [one for one in sources(lesson, "markdown") if to_file.search(one)]
    assert parse_lesson(lesson)


@pytest.mark.parametrize("name", KINDS)
def test_lesson_of_each_kind_is_valid_notebook(name: str) -> None:
    """Lessons with files, questions, exercises and plots all give valid notebooks."""
    notebook_is_whole(next(one for one in LESSONS if one.id == name))


def test_links_become_words_and_commands(tmp_path: Path) -> None:
    """Links become titles with their command, because a notebook has no other files."""
    text = (
        "See [it](../jax/03-precision.md#choose), [here](02-next.md), [b](../glossary.md#b) and "
        "[there](https://docs.jax.dev/a.md).\n\n" + fence("print(1)", "1")
    )
    [told, *_] = sources(make_lesson(tmp_path, text), "markdown")

    assert "See it (`tpustarter learn jax/precision`), here (`tpustarter learn made/next`)," in told
    assert " b and [there](https://docs.jax.dev/a.md)." in told


def test_questions_and_exercises_come_with_folded_answers(tmp_path: Path) -> None:
    """Answers are folded, and the cell of an exercise judges the answer."""
    shipped(tmp_path)
    lesson = lesson_with(tmp_path, "double")
    quiz = "```quiz id=q\nWhich?\n\n(x) this\n    Yes.\n( ) that\n    No.\n```\n"
    lesson.path.write_text(lesson.path.read_text() + quiz)
    lesson = content.read_lesson(lesson.path)
    told = "\n".join(sources(lesson, "markdown"))
    [code] = sources(lesson, "code")

    assert "<details><summary>Answer</summary>\n\n1. Right: Yes.\n2. No: No." in told
    assert "<details><summary>Hint 2</summary>" in told
    assert "return 2 * number" in told
    assert code.startswith("def double")
    assert "# Judged below" in code


def test_unwritable_file_is_one_error(tmp_path: Path) -> None:
    """The error names the file and the reason."""
    file = tmp_path / "nowhere" / "lesson.ipynb"
    command = [sys.executable, "-m", "tpustarter", "learn", "jax/precision", "--notebook"]
    done = copies.run([*command, str(file)])

    assert done.returncode == 74
    assert f"cannot write `{file}`: No such file or directory" in done.stderr

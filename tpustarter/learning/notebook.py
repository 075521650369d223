"""Turns a lesson into a Jupyter notebook, for Colab or a Jupyter of one's own.

What runs becomes a code cell, what it should print stands below it as text, a question keeps its
answers folded, and an exercise is a cell with its gap. Nothing here runs anything.
Source of the format: https://nbformat.readthedocs.io/en/latest/format_description.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tpustarter.content import Lesson
from tpustarter.learning import exercises
from tpustarter.learning.blocks import Block, Part, parse
from tpustarter.learning.quiz import Quiz

DEVICES = """\
# Without a TPU, 8 virtual CPU devices stand in for one. Run this first.
import os

os.environ.setdefault("JAX_NUM_CPU_DEVICES", "8")
"""
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(((?!https://)[^)#\s]*)(#[^)\s]*)?\)")
"""A link to another lesson, to a heading or to the glossary: none of them is in the notebook."""
_LESSON = re.compile(r"(?:\.\./)?(?:([\w-]+)/)?\d+-([\w-]+)\.md")


def text(lesson: Lesson) -> str:
    """Return the notebook of a lesson, as the text of its file; raises Problem as `parse` does."""
    cells: list[dict[str, Any]] = [
        {"id": f"cell-{number}", "metadata": {}, **cell}
        for number, cell in enumerate(_make_cells(lesson))
    ]
    notebook: dict[str, Any] = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _make_cells(lesson: Lesson) -> Iterator[dict[str, Any]]:
    track = lesson.id.partition("/")[0]
    if lesson.framework == "jax":
        yield _code_cell(DEVICES)
    for part in parse(lesson):
        yield from _part_cells(part, track)
    for exercise in exercises.read(lesson):
        yield _markdown_cell(f"## Exercise: {exercise.title}\n\n{exercise.task}")
        cell = _code_cell(_without_docstring(exercise.gap) + exercise.judged)
        yield {**cell, "metadata": {"tags": ["raises-exception"]}}  # "Run all" goes on behind it
        hints = "".join(
            f"<details><summary>Hint {number}</summary>\n\n{hint}\n\n</details>\n\n"
            for number, hint in enumerate(exercise.hints, 1)
        )
        folded = f"```python\n{exercise.solution}```"
        yield _markdown_cell(
            f"{hints}<details><summary>Solution</summary>\n\n{folded}\n\n</details>"
        )


def _part_cells(part: Part, track: str) -> Iterator[dict[str, Any]]:
    if part.block:
        yield _code_cell(part.block.code)
        if part.block.expected:
            yield _markdown_cell(_expected_text(part.block))
    elif part.quiz:
        yield _markdown_cell(_question_text(part.quiz))
    else:
        yield _markdown_cell(_LINK.sub(lambda match: _unlink(match, track), part.text))


def _unlink(match: re.Match[str], track: str) -> str:
    """Return a link as its words, and the command that shows what it leads to."""
    words, target = match[1], _LESSON.fullmatch(match[2])
    return f"{words} (`tpustarter learn {target[1] or track}/{target[2]}`)" if target else words


def _expected_text(block: Block) -> str:
    lines: list[str] = []
    for expected in block.expected:
        lines += [f"Prints{expected.where}:", "", "```text", expected.text.rstrip("\n"), "```", ""]
    return "\n".join(lines).rstrip()


def _question_text(quiz: Quiz) -> str:
    answers = "\n".join(f"{number}. {answer.text}" for number, answer in enumerate(quiz.answers, 1))
    explanations = "\n".join(
        f"{number}. {'Right' if answer.is_right else 'No'}: {answer.why}"
        for number, answer in enumerate(quiz.answers, 1)
    )
    folded = f"<details><summary>Answer</summary>\n\n{explanations}\n\n</details>"
    return f"**Question:** {quiz.question}\n\n{answers}\n\n{folded}"


def _without_docstring(code: str) -> str:
    """Return an exercise's program without its task, which stands above it."""
    return code.split('"""', 2)[2].lstrip("\n")


def _markdown_cell(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": source}


def _code_cell(source: str) -> dict[str, Any]:
    return {"cell_type": "code", "source": source.rstrip("\n"), "execution_count": None,
            "outputs": []}  # fmt: skip

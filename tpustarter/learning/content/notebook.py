"""A lesson as a Jupyter notebook, for Colab or a local Jupyter.

A block becomes a code cell followed by its expected output as text, a question has its answers
folded, and an exercise is a cell with its gap. Source of the format:
https://nbformat.readthedocs.io/en/latest/format_description.html
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Literal

import msgspec

from tpustarter.core.content import Lesson
from tpustarter.learning.content import code_files, exercises
from tpustarter.learning.content.blocks import Block, Figure, LessonPart, parse_lesson
from tpustarter.learning.content.quiz import Quiz
from tpustarter.learning.drawings import block_drawings
from tpustarter.machine import frameworks

DEVICES = """\
# Without a TPU, 8 virtual CPU devices stand in for one. Run this first.
import os

"""
LOGICAL_DEVICES = """\
# Without a TPU, 8 logical CPU devices stand in for one. Run this first.
import os

_ = os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # no log between the outputs
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
eight = [tf.config.LogicalDeviceConfiguration()] * 8
tf.config.set_logical_device_configuration(cpu, eight)
"""
"""TensorFlow has no environment variable for the number of devices."""
PLOT = """\
import matplotlib.pyplot as plt


def _plot(series, places, label):
    axes = plt.subplots(figsize=(7, 3))[1]
    for name, values in series.items():
        if isinstance(values, dict):
            axes.barh(list(values), [float(value) for value in values.values()], label=name)
        else:
            along = range(len(values)) if places is None else list(places)
            axes.plot(along, [float(value) for value in values], label=name)
    axes.set_xlabel(label)
    axes.legend()
    plt.show()


_plot({{{series}}}, {places}, "{label}")
"""
"""Plots the variables of `plot=`."""
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(((?!https://)[^)#\s]*)(#[^)\s]*)?\)")
"""A link to another lesson, heading or glossary term, which the notebook does not contain."""
_LESSON = re.compile(r"(?:\.\./)?(?:([\w-]+)/)?\d+-([\w-]+)\.md")


class NotebookCell(msgspec.Struct, kw_only=True):
    """A cell in Jupyter's notebook format, version 4."""

    id: str = ""
    metadata: dict[str, object] = {}
    cell_type: Literal["code", "markdown"]
    source: str
    execution_count: msgspec.UnsetType | None = msgspec.UNSET
    outputs: list[str] | msgspec.UnsetType = msgspec.UNSET


def render_notebook(lesson: Lesson) -> str:
    """Return a lesson as the text of a notebook file; raises Problem as `parse_lesson` does."""
    cells = list(_make_cells(lesson))
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    notebook = {
        "cells": msgspec.to_builtins(cells),
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _make_cells(lesson: Lesson) -> Iterator[NotebookCell]:
    track = lesson.id.partition("/")[0]
    known = frameworks.FRAMEWORKS.get(lesson.framework or "")
    if known and known.counts:
        lines = [f'_ = os.environ.setdefault("{name}", "8")\n' for name in known.counts]
        yield _code_cell(DEVICES + "".join(lines))
    if lesson.framework == "tensorflow":
        yield _code_cell(LOGICAL_DEVICES)
    for name, content in code_files.read_code_files(lesson).items():
        cell = _code_cell(f"%%writefile {name}\n{content}")
        cell.source += "\n"  # the cell is the whole file, including its final newline
        cell.metadata = {"jupyter": {"source_hidden": name.endswith(".txt")}}
        yield cell
    for fold, parts in groupby(parse_lesson(lesson), lambda part: part.fold):
        cells = [cell for part in parts for cell in _part_cells(part, track, lesson.path.parent)]
        if not fold:
            yield from cells
        elif all(cell.cell_type == "markdown" for cell in cells):
            inside = "\n\n".join(cell.source for cell in cells)
            yield _markdown_cell(f"<details><summary>{fold}</summary>\n\n{inside}\n\n</details>")
        else:  # code cells cannot be folded
            yield from (_markdown_cell(f"## {fold}"), *cells)
    for exercise in exercises.read_exercises(lesson):
        yield _markdown_cell(f"## Exercise: {exercise.title}\n\n{exercise.task}")
        cell = _code_cell(_without_docstring(exercise.gap) + exercise.judged)
        cell.metadata = {"tags": ["raises-exception"]}  # keeps "Run all" going
        yield cell
        hints = "".join(
            f"<details><summary>Hint {number}</summary>\n\n{hint}\n\n</details>\n\n"
            for number, hint in enumerate(exercise.hints, 1)
        )
        folded = f"```python\n{exercise.solution}```"
        yield _markdown_cell(
            f"{hints}<details><summary>Solution</summary>\n\n{folded}\n\n</details>"
        )


def _part_cells(part: LessonPart, track: str, folder: Path) -> Iterator[NotebookCell]:
    if part.block:
        cell = _code_cell(part.block.code)
        if part.block.is_try:  # keeps "Run all" going
            cell.metadata = {"tags": ["raises-exception"]}
        yield cell
        if part.block.expected:
            yield _markdown_cell(_expected_text(part.block))
        if not part.block.is_try:
            yield from map(_code_cell, _drawing_code(part.block))
    elif part.quiz:
        yield _markdown_cell(_question_text(part.quiz))
    elif part.figure:
        yield _markdown_cell(_figure_text(part.figure, folder))
    else:
        yield _markdown_cell(_LINK.sub(lambda match: _unlink(match, track), part.text))


def _drawing_code(block: Block) -> Iterator[str]:
    """Yield code that draws, in a notebook, the drawings that tpustarter makes itself."""
    if block.plot:
        series = ", ".join(f'"{name}": {name}' for name in block.plot)
        label = block_drawings.format_plot_label(block.x)
        yield PLOT.format(series=series, places=block.x or None, label=label)
    for name in block.show:
        yield f"import jax\n\njax.debug.visualize_array_sharding({name})"


def _figure_text(figure: Figure, folder: Path) -> str:
    """Return a figure as an embedded picture, or as its text if the picture cannot be read."""
    try:
        picture = (folder / figure.file).read_bytes()
    except (OSError, ValueError):
        return f"```text\n{figure.text}\n```\n\n*{figure.caption}*"
    kind = "png" if figure.file.endswith(".png") else "svg+xml"
    address = f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"
    return f"![{figure.caption}]({address})\n\n*{figure.caption}*"


def _unlink(match: re.Match[str], track: str) -> str:
    """Return a link's text and the command that shows its target."""
    words, target = match[1], _LESSON.fullmatch(match[2])
    if match[2].startswith("exercises/"):
        return f"**{words}** (at the end of this notebook)"
    if match[2].startswith("code/"):
        return f"{words} (at the beginning of this notebook)"
    return f"{words} (`tpustarter learn {target[1] or track}/{target[2]}`)" if target else words


def _expected_text(block: Block) -> str:
    lines: list[str] = []
    for expected in block.expected:
        lines += [
            f"Prints{expected.platform_text}:",
            "",
            "```text",
            expected.text.rstrip("\n"),
            "```",
            "",
        ]
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
    return code.split('"""', 2)[2].lstrip("\n")


def _markdown_cell(source: str) -> NotebookCell:
    return NotebookCell(cell_type="markdown", source=source)


def _code_cell(source: str) -> NotebookCell:
    return NotebookCell(
        cell_type="code", source=source.rstrip("\n"), execution_count=None, outputs=[]
    )

"""A lesson as plain text that reads well aloud: announced, indented, without drawn lines.

A link becomes its text and where it leads; words of the glossary are explained at the end.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from tpustarter import locations
from tpustarter.content import Lesson
from tpustarter.learning.blocks import Block, parse
from tpustarter.learning.expected import Expected
from tpustarter.learning.markdown import anchor, tokens
from tpustarter.learning.progress import LessonProgress
from tpustarter.learning.quiz import Quiz
from tpustarter.terminal import wrap

_INDENT = " " * 4
_FENCES = {"sh": "Command:", "text": "Drawing:", "python": "Code:"}
"""How a fence that does not run is announced."""
_DONE = {"pass": "passed", "fail": "did not match", "error": "ended with an error",
         "changed": "has changed since you ran it"}  # fmt: skip


@dataclass
class _Text:
    """Where the rendering of one lesson is: in which list or table, and what it has linked."""

    folder: Path
    markers: list[str] = field(default_factory=list[str])
    """The sign of each list it is in; the innermost one last."""
    fresh: bool = False
    """Whether a list item has begun and nothing of it was told."""
    heading: str = ""
    cells: list[str] = field(default_factory=list[str])
    columns: list[str] = field(default_factory=list[str])
    in_table: bool = False
    words: dict[str, str] = field(default_factory=dict[str, str])
    """Anchors in the glossary that were linked, with the glossary's path as it was linked."""


def render(lesson: Lesson, known: LessonProgress) -> Iterator[str]:
    """Yield the lines of a lesson, with what the learner did so far."""
    text = _Text(lesson.path.parent)
    yield f"Lesson {lesson.id}, {lesson.header.get('minutes', '?')} minutes"
    parts = parse(lesson)
    for part in parts:
        if part.block:
            yield from _block(part.block, known.status(part.block))
        elif part.quiz:
            yield from _question(part.quiz)
        else:
            yield from _markdown(part.text, text)
    yield from _answers([part.quiz for part in parts if part.quiz])
    yield from _glossary(text)
    if any(part.block for part in parts):
        yield from ("", f"Run its blocks here: tpustarter learn {lesson.id} --run")
    for name in lesson.header.get("exercises") or ():
        track = lesson.id.partition("/")[0]
        yield from ("", f"Exercise: tpustarter learn --exercise {track}/{name}")
    if following := lesson.header.get("next"):
        yield from ("", f"Next: tpustarter learn {following}")


def _block(block: Block, status: str | None) -> Iterator[str]:
    told = f", {_DONE[status]}" if status in _DONE else ""
    yield from ("", f"Code, block {block.id}{told}:", "")
    yield from _indented(block.code)
    for expected in block.expected:
        yield from ("", *_announced(expected), "")
        yield from _indented(expected.text)


def _question(quiz: Quiz) -> Iterator[str]:
    """Yield a question; its answer stands at the end, so that one can think first."""
    yield from ("", *wrap(f"Question: {quiz.question}", "", ""), "")
    for number, answer in enumerate(quiz.answers, 1):
        yield from wrap(answer.text, f"{number}. ", "   ")


def _answers(quizzes: list[Quiz]) -> Iterator[str]:
    if quizzes:
        yield from ("", "Section: Answers")
    for quiz in quizzes:
        yield from ("", *wrap(quiz.question, "", ""))
        for number, answer in enumerate(quiz.answers, 1):
            verdict = "Right" if answer.is_right else "No"
            yield from wrap(f"{verdict}: {answer.why}", f"{number}. ", "   ")


def _announced(expected: Expected) -> list[str]:
    text = f"Expected output{expected.where}"
    if expected.rtol is not None:
        text += f"; its numbers may differ by {100 * expected.rtol:g} %"
    if "..." in expected.text:
        text += "; ... may be anything"
    return wrap(f"{text}:", "", "")


def _indented(text: str) -> Iterator[str]:
    for line in text.rstrip("\n").split("\n"):
        yield f"{_INDENT}{line}".rstrip()


def _markdown(source: str, text: _Text) -> Iterator[str]:
    for token in tokens(source):
        if token.type in ("fence", "code_block"):
            words = token.info.split()[:1]
            yield from ("", _FENCES.get(words[0] if words else "", "Text:"), "")
            yield from _indented(token.content)
        elif token.type == "inline":
            yield from _paragraph(_inline(token, text), text)
        else:
            yield from _structure(token, text)


def _structure(token: Any, text: _Text) -> Iterator[str]:
    """Keep account of headings, lists and tables; a row of a table is told when it ends."""
    kind = token.type
    if kind == "heading_open":
        text.heading = "Lesson: " if token.tag == "h1" else "Section: "
    elif kind == "heading_close":
        text.heading = ""
    elif kind in ("bullet_list_open", "ordered_list_open"):
        text.markers.append("* " if kind == "bullet_list_open" else "1. ")
        yield ""
    elif kind in ("bullet_list_close", "ordered_list_close"):
        text.markers.pop()
    elif kind == "list_item_open":
        text.markers[-1] = f"{token.info}. " if token.info else text.markers[-1]
        text.fresh = True
    elif kind in ("table_open", "table_close"):
        text.in_table = kind == "table_open"
        yield ""
    elif kind == "tr_close":
        cells, text.cells = text.cells, []
        if text.columns:
            row = "; ".join(f"{name}: {cell}" for name, cell in zip(text.columns, cells))  # noqa: B905
            yield from wrap(row, "", "  ")
        text.columns = text.columns or cells
    elif kind == "tbody_close":
        text.columns = []


def _paragraph(line: str, text: _Text) -> Iterator[str]:
    if text.in_table:
        text.cells.append(line)
        return
    inner = "  " * max(0, len(text.markers) - 1)
    marker = text.markers[-1] if text.markers else ""
    if text.fresh:
        first, text.fresh = inner + marker, False
    else:
        yield ""
        first = inner + " " * len(marker)
    yield from wrap(text.heading + line, first, inner + " " * len(marker))


def _inline(token: Any, text: _Text) -> str:
    """Return a run of text as one line, links as words."""
    pieces: list[str] = []
    targets: list[str] = []
    for child in token.children or ():
        if child.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
        elif child.type == "code_inline":
            pieces.append(f"`{child.content}`")
        elif child.type == "link_open":
            targets.append(_target(str(child.attrs["href"]), text))
        elif child.type == "link_close":
            pieces.append(targets.pop())
        else:
            pieces.append(child.content)
    return "".join(pieces)


def _target(address: str, text: _Text) -> str:
    """Return what stands behind a link's words: an address, a command, or nothing."""
    name, _, heading = address.partition("#")
    if address.startswith("https://"):
        return f" ({address})"
    if name.endswith("glossary.md"):
        text.words[heading] = name
        return ""
    if name.endswith(".md"):
        path = Path(name)
        track = path.parent.name if path.parent.name not in ("", "..") else text.folder.name
        return f" (tpustarter learn {track}/{re.sub(r'^[0-9]+-', '', path.stem)})"
    return ""


def _glossary(text: _Text) -> Iterator[str]:
    """Yield the words that were linked, each with what the glossary says."""
    told: list[str] = []
    for heading, name in sorted(text.words.items()):
        with contextlib.suppress(OSError, ValueError):  # the linter tells what leads nowhere
            meaning = meanings(locations.read_text(text.folder / name)).get(heading)
            if meaning:
                told += wrap(f"{meaning[0]}: {meaning[1]}", "* ", "  ")
    if told:
        yield from ("", "Section: Words", "", *told)


def meanings(glossary: str) -> dict[str, tuple[str, str]]:
    """Return the word and its meaning for each anchor of a glossary."""
    found: dict[str, tuple[str, str]] = {}
    word = ""
    text = _Text(Path())
    stream = tokens(glossary)
    for before, token in pairwise(stream):
        if token.type != "inline":
            continue
        if before.type == "heading_open":
            word = _inline(token, text)
        elif word:
            told = found.get(anchor(word), (word, ""))[1]
            found[anchor(word)] = (word, f"{told} {_inline(token, text)}".strip())
    return found

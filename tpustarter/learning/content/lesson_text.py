"""A lesson as plain text for screen readers: announced and indented, without drawn lines.

A link becomes its text and target; glossary terms are explained at the end.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from tpustarter.core import locations
from tpustarter.core.content import Lesson
from tpustarter.learning.content import code_files
from tpustarter.learning.content.blocks import (
    ANSWER,
    HINT,
    Block,
    Figure,
    LessonPart,
    parse_lesson,
)
from tpustarter.learning.content.markdown import heading_anchor, parse_tokens
from tpustarter.learning.content.quiz import Quiz
from tpustarter.learning.progress.lesson_progress import LessonProgress
from tpustarter.learning.run.expected_output import ExpectedOutput
from tpustarter.text.terminal import wrap

if TYPE_CHECKING:
    from markdown_it.token import Token

_INDENT = " " * 4
_FENCE_LABELS = {"sh": "Command:", "text": "Drawing:", "python": "Code:"}
"""Announcements of fences that do not run."""
_STATUS_TEXTS = {
    "pass": "passed",
    "fail": "did not match",
    "error": "ended with an error",
    "changed": "has changed since you ran it",
}


@dataclass
class _RenderState:
    """The current list or table while rendering, and the linked glossary terms."""

    folder: Path
    lesson: Lesson | None = None
    markers: list[str] = field(default_factory=list[str])
    """The marker of each enclosing list, innermost last."""
    is_new_item: bool = False
    """True if a list item has begun but none of its text has been written."""
    heading_prefix: str = ""
    cells: list[str] = field(default_factory=list[str])
    columns: list[str] = field(default_factory=list[str])
    in_table: bool = False
    linked_words: dict[str, str] = field(default_factory=dict[str, str])
    """Linked glossary anchors, each with the glossary's path in the link."""


def render_lesson(
    lesson: Lesson, progress: LessonProgress, following: str | None = None, *, setup: str = ""
) -> Iterator[str]:
    """Yield a lesson as lines of text, with the learner's progress and the next lesson.

    Args:
        lesson: The lesson.
        progress: The learner's progress in it.
        following: The id of the next lesson, if there is one.
        setup: A sentence on the set-up without which its blocks are skipped, or "".
    """
    state = _RenderState(lesson.path.parent, lesson)
    yield from _render_head(lesson)
    parts, fold = parse_lesson(lesson), ""
    hints, folded_answers = (_find_task_folds(parts, fold) for fold in (HINT, ANSWER))
    for part in parts:
        if any(part is shown_later for _, shown_later in (*hints, *folded_answers)):
            continue
        if part.fold != fold:
            fold = part.fold
            yield from ("", f"Section: {fold}" if fold else "End of this section.")
        if part.block:
            yield from _render_block(part.block, progress.status(part.block))
        elif part.figure:
            yield from _render_figure(part.figure)
        elif part.quiz:
            yield from _render_question(part.quiz)
        else:
            yield from _render_markdown(part.text, state)
    if hints:
        yield from ("", "Section: Hints")
    for name, hint in hints:
        yield from ("", f"Your turn, {name}:")
        yield from _render_markdown(hint.text, state)
    quizzes = [part.quiz for part in parts if part.quiz]
    if quizzes or folded_answers:
        yield from ("", "Section: Answers")
    yield from _render_answers(quizzes)
    for name, answer in folded_answers:
        yield from ("", f"Your turn, {name}:")
        yield from _render_markdown(answer.text, state)
    yield from _render_glossary(state)
    yield from _render_next_commands(lesson, parts, following, setup)


def _render_next_commands(
    lesson: Lesson, parts: list[LessonPart], following: str | None, setup: str
) -> Iterator[str]:
    """Yield the commands that follow a lesson, its set-up first."""
    if setup:
        yield from ("", *wrap(setup, "", ""))
    if any(part.block for part in parts):
        yield from ("", f"Run its blocks here: tpustarter learn {lesson.id} --run")
    for name in lesson.exercise_names:
        track = lesson.id.partition("/")[0]
        yield from ("", f"Exercise: tpustarter learn --exercise {track}/{name}")
    if following:
        yield from ("", f"Next: tpustarter learn {following}")


def _render_head(lesson: Lesson) -> Iterator[str]:
    yield f"Lesson {lesson.id}, {lesson.header.get('minutes', '?')} minutes"
    for line in code_files.describe_code_files(lesson):
        yield from wrap(line, "", "  ")


def _find_task_folds(parts: list[LessonPart], fold: str) -> list[tuple[str, LessonPart]]:
    """Return the hint or the answer below each task, with the block's name.

    They are moved to the end, like the answers to questions, so that the reader can think first.
    """
    found: list[tuple[str, LessonPart]] = []
    task = None
    for part in parts:
        if part.fold not in (HINT, ANSWER):
            task = part.block if part.block and part.block.is_try else None
        elif task and part.fold == fold and part.kind == "markdown":
            found.append((f"{task.name}{task.id_in_brackets}", part))
    return found


def _render_block(block: Block, status: str | None) -> Iterator[str]:
    status_text = f", {_STATUS_TEXTS[status]}" if status in _STATUS_TEXTS else ""
    kind = "Your turn" if block.is_try else "Code"
    yield from ("", f"{kind}, {block.name}{block.id_in_brackets}{status_text}:", "")
    yield from _indent(block.code)
    if block.plot:
        over = f" over {block.x}" if block.x else ""
        yield from ("", f"Plots {', '.join(block.plot)}{over}.")
    if block.show:
        yield from ("", f"Shows which devices hold {', '.join(block.show)}.")
    for expected in block.expected:
        yield from ("", *_announce(expected), "")
        yield from _indent(expected.text)


def _render_figure(figure: Figure) -> Iterator[str]:
    yield from ("", *wrap(f"Figure: {figure.caption}", "", ""), "")
    yield from _indent(figure.text)


def _render_question(quiz: Quiz) -> Iterator[str]:
    """Yield a question. Its answer is moved to the end, so that the reader can think first."""
    yield from ("", *wrap(f"Question: {quiz.question}", "", ""), "")
    for number, answer in enumerate(quiz.answers, 1):
        yield from wrap(answer.text, f"{number}. ", "   ")


def _render_answers(quizzes: list[Quiz]) -> Iterator[str]:
    for quiz in quizzes:
        yield from ("", *wrap(quiz.question, "", ""))
        for number, answer in enumerate(quiz.answers, 1):
            verdict = "Right" if answer.is_right else "No"
            yield from wrap(f"{verdict}: {answer.why}", f"{number}. ", "   ")


def _announce(expected: ExpectedOutput) -> list[str]:
    text = f"Expected output{expected.platform_text}"
    if expected.rtol is not None:
        text += f"; its numbers may differ by {100 * expected.rtol:g} %"
    if "..." in expected.text:
        text += "; ... may be anything"
    return wrap(f"{text}:", "", "")


def _indent(text: str) -> Iterator[str]:
    for line in text.rstrip("\n").split("\n"):
        yield f"{_INDENT}{line}".rstrip()


def _render_markdown(source: str, state: _RenderState) -> Iterator[str]:
    for token in parse_tokens(source):
        if token.type in ("fence", "code_block"):
            words = token.info.split()[:1]
            yield from ("", _FENCE_LABELS.get(words[0] if words else "", "Text:"), "")
            yield from _indent(token.content)
        elif token.type == "inline":
            yield from _render_paragraph(_inline_text(token, state), state)
        else:
            yield from _render_structure(token, state)


def _render_structure(token: Token, state: _RenderState) -> Iterator[str]:
    """Track headings, lists and tables; a table row is written when it ends."""
    kind = token.type
    if kind == "heading_open":
        state.heading_prefix = "Lesson: " if token.tag == "h1" else "Section: "
    elif kind == "heading_close":
        state.heading_prefix = ""
    elif kind in ("bullet_list_open", "ordered_list_open"):
        state.markers.append("* " if kind == "bullet_list_open" else "1. ")
        yield ""
    elif kind in ("bullet_list_close", "ordered_list_close"):
        state.markers.pop()
    elif kind == "list_item_open":
        state.markers[-1] = f"{token.info}. " if token.info else state.markers[-1]
        state.is_new_item = True
    elif kind in ("table_open", "table_close"):
        state.in_table = kind == "table_open"
        yield ""
    elif kind == "tr_close":
        cells, state.cells = state.cells, []
        if state.columns:
            row = "; ".join(f"{name}: {cell}" for name, cell in zip(state.columns, cells))  # noqa: B905
            yield from wrap(row, "", "  ")
        state.columns = state.columns or cells
    elif kind == "tbody_close":
        state.columns = []


def _render_paragraph(line: str, state: _RenderState) -> Iterator[str]:
    if state.in_table:
        state.cells.append(line)
        return
    inner = "  " * max(0, len(state.markers) - 1)
    marker = state.markers[-1] if state.markers else ""
    if state.is_new_item:
        first, state.is_new_item = inner + marker, False
    else:
        yield ""
        first = inner + " " * len(marker)
    yield from wrap(state.heading_prefix + line, first, inner + " " * len(marker))


def _inline_text(token: Token, state: _RenderState) -> str:
    pieces: list[str] = []
    targets: list[str] = []
    for child in token.children or ():
        if child.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
        elif child.type == "code_inline":
            pieces.append(f"`{child.content}`")
        elif child.type == "link_open":
            targets.append(_link_target(str(child.attrs["href"]), state))
        elif child.type == "link_close":
            pieces.append(targets.pop())
        else:
            pieces.append(child.content)
    return "".join(pieces)


def _link_target(address: str, state: _RenderState) -> str:
    """Return a link's target as a URL or command in brackets, or "" if it has neither."""
    name, _, heading = address.partition("#")
    if address.startswith("https://"):
        return f" ({address})"
    if name.startswith("exercises/"):
        return f" (tpustarter learn --exercise {state.folder.name}/{Path(name).stem})"
    if name.startswith("code/") and state.lesson:
        return f" ({code_files.format_print_command(state.lesson, name.removeprefix('code/'))})"
    if name.endswith("glossary.md"):
        state.linked_words[heading] = name
        return ""
    if name.endswith(".md"):
        path = Path(name)
        track = path.parent.name if path.parent.name not in ("", "..") else state.folder.name
        return f" (tpustarter learn {track}/{re.sub(r'^[0-9]+-', '', path.stem)})"
    return ""


def _render_glossary(state: _RenderState) -> Iterator[str]:
    lines: list[str] = []
    for heading, name in sorted(state.linked_words.items()):
        with contextlib.suppress(OSError, ValueError):  # the linter reports broken links
            meaning = read_glossary_meanings(locations.read_text(state.folder / name)).get(heading)
            if meaning:
                lines += wrap(f"{meaning[0]}: {meaning[1]}", "* ", "  ")
    if lines:
        yield from ("", "Section: Words", "", *lines)


@lru_cache(maxsize=4)  # all lessons share one glossary
def read_glossary_meanings(glossary: str) -> Mapping[str, tuple[str, str]]:
    """Return each glossary entry's word and meaning, keyed by the anchor of its heading."""
    entries: dict[str, tuple[str, str]] = {}
    word = ""
    state = _RenderState(Path())
    stream = parse_tokens(glossary)
    for previous, token in pairwise(stream):
        if token.type != "inline":
            continue
        if previous.type == "heading_open":
            word = _inline_text(token, state)
        elif word:
            meaning = entries.get(heading_anchor(word), (word, ""))[1]
            entries[heading_anchor(word)] = (
                word,
                f"{meaning} {_inline_text(token, state)}".strip(),
            )
    return entries

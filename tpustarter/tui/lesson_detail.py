"""What is said of the marked lesson beside the list: what it is about, its parts, its state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.content import Content

from tpustarter.learning import markdown
from tpustarter.terminal import visible
from tpustarter.tui import home_rows
from tpustarter.tui.lines import Hanging, Lines, Stack, heading
from tpustarter.tui.references import texts

if TYPE_CHECKING:
    from tpustarter.content import Lesson
    from tpustarter.learning.standing import Standing
    from tpustarter.tui.known import Course


_SUMMARY = re.compile(r"^## What you learned$(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
LEARNED = "What you learn"
EVERYWHERE = ("Your turn", "What you learned", "If it fails", "In practice")
"""Sections that tell lessons apart no more."""


def describe(lesson: Lesson, course: Course, standing: Standing | None) -> Stack:
    """Return what is said of a lesson."""
    return Stack(_lines(lesson, course, standing))


def _lines(lesson: Lesson, course: Course, standing: Standing | None) -> Iterator[Lines | Content]:
    lines = list(markdown.plain_lines(lesson))
    minutes, state = home_rows.minutes(lesson), _state(lesson, course, standing)
    yield Content.styled(f"{visible(lesson.id)}, {minutes}; {state}", "$muted")
    yield Content("")
    yield Content(visible(opening(lines)))
    sections = [line.text for line in lines if line.kind == "heading"][1:]
    sections = [section for section in sections if section not in EVERYWHERE]
    exercises = [f"{name.replace('-', ' ').capitalize()}" for name in texts(lesson, "exercises")]
    for name, items in (
        (LEARNED, list(_learned(lesson))),
        ("Sections", sections),
        ("Exercises", exercises),
        ("Checks that prove it", texts(lesson, "checks")),
    ):
        if items:
            yield Content("")
            yield heading(name)
        mark = "  • " if name == LEARNED else "  "
        for item in items:
            yield Hanging(mark, visible(item))


def _state(lesson: Lesson, course: Course, standing: Standing | None) -> str:
    if lesson.id in course.done:
        return "done"
    if lesson.id in course.read:
        return f"read, {course.left_of(lesson.id)}"
    if lesson.id in course.begun:
        passed, count = course.begun[lesson.id]
        return f"begun, {passed} of {count} blocks and questions are done" if count else "begun"
    return "next on your path" if standing and standing.next == lesson.id else "not begun"


def _learned(lesson: Lesson) -> Iterator[str]:
    """Yield what a lesson sums up at its end."""
    summary = _SUMMARY.search(lesson.text)
    for item in re.split(r"^[*-] ", summary[1] if summary else "", flags=re.MULTILINE)[1:]:
        yield markdown.plain(" ".join(item.partition("\n\n")[0].split()))


def opening(lines: list[markdown.Line]) -> str:
    """Return the first paragraph of a lesson."""
    words: list[str] = []
    for line in lines[1:]:
        if line.kind == "prose" and line.text.strip():
            words.append(line.text.strip())
        elif words:
            break
    return " ".join(words)

"""A lesson's details in a list: its opening, its parts and its state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.content import Content

from tpustarter.learning.content import markdown
from tpustarter.text.terminal import escape_text
from tpustarter.tui.home import home_rows
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, StackedText, group_heading

if TYPE_CHECKING:
    from tpustarter.core.content import Lesson
    from tpustarter.learning.progress.path_progress import PathProgress
    from tpustarter.tui.home.course_facts import Course


_SUMMARY = re.compile(r"^## What you learned$(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
LEARNED = "What you learn"
COMMON_SECTIONS = ("Your turn", "What you learned", "If it fails", "In practice")
"""Sections that most lessons have, whose titles do not distinguish lessons."""


def describe_lesson(lesson: Lesson, course: Course, progress: PathProgress | None) -> StackedText:
    """Return a lesson's details."""
    return StackedText(_lines(lesson, course, progress))


def _lines(
    lesson: Lesson, course: Course, progress: PathProgress | None
) -> Iterator[LaidOutLines | Content]:
    lines = list(markdown.plain_lines(lesson))
    minutes, state = home_rows.format_minutes(lesson), _state(lesson, course, progress)
    yield Content.styled(f"{escape_text(lesson.id)}, {minutes}; {state}", "$muted")
    yield Content("")
    yield Content(escape_text(find_first_paragraph(lines)))
    sections = [line.text for line in lines if line.kind == "heading"][1:]
    sections = [section for section in sections if section not in COMMON_SECTIONS]
    exercises = [f"{name.replace('-', ' ').capitalize()}" for name in lesson.exercise_names]
    for name, items in (
        (LEARNED, list(_learned(lesson))),
        ("Sections", sections),
        ("Exercises", exercises),
        ("Checks that prove it", lesson.checks),
    ):
        if items:
            yield Content("")
            yield group_heading(name)
        mark = "  • " if name == LEARNED else "  "
        for item in items:
            yield HangingText(mark, escape_text(item))


def _state(lesson: Lesson, course: Course, progress: PathProgress | None) -> str:
    if lesson.id in course.done:
        return "done"
    if lesson.id in course.lessons_read:
        return f"read, {course.describe_open_tasks(lesson.id)}"
    if lesson.id in course.lessons_begun:
        passed, count = course.lessons_begun[lesson.id]
        return f"begun, {passed} of {count} blocks and questions are done" if count else "begun"
    return "next on your path" if progress and progress.next == lesson.id else "not begun"


def _learned(lesson: Lesson) -> Iterator[str]:
    """Yield the items of a lesson's summary."""
    summary = _SUMMARY.search(lesson.text)
    for item in re.split(r"^[*-] ", summary[1] if summary else "", flags=re.MULTILINE)[1:]:
        yield markdown.strip_markup(" ".join(item.partition("\n\n")[0].split()))


def find_first_paragraph(lines: list[markdown.MarkdownLine]) -> str:
    """Return a lesson's first paragraph."""
    words: list[str] = []
    for line in lines[1:]:
        if line.kind == "prose" and line.text.strip():
            words.append(line.text.strip())
        elif words:
            break
    return " ".join(words)

"""Errors that lessons explain under "If it fails", as rows like those of `mistakes.yml`."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from pathlib import Path

from tpustarter.core import content
from tpustarter.core.content import Lesson
from tpustarter.core.problem import Problem
from tpustarter.explain.program_mistakes import ProgramMistake
from tpustarter.learning.content import markdown

HEADING = "## If it fails"
_SECTION = re.compile(rf"^{HEADING}\n(?P<items>.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^\* +\*\*(?P<head>.*?)\*\*(?P<says>.*?)(?=^\* |\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`]+)`")
_LONG = 20
"""Length in characters from which two words identify an error; a shorter one needs three."""


def read_lesson_failures(folder: Path | None = None, first: str = "") -> list[ProgramMistake]:
    """Return the errors that lessons name, or none if the lessons cannot be read.

    Args:
        folder: The lessons; None for the bundled ones.
        first: The lesson in which the error happened, whose rows come first. The others are sorted
            by the length of their pattern, longest first.
    """
    try:
        lessons = content.read_lessons(folder)
    except Problem:  # reported when a lesson is opened; the other rows still explain
        return []
    rows = [row for lesson in lessons for row in list_lesson_failures(lesson)]
    return sorted(rows, key=lambda row: (row.read != first, -len(row.error.pattern)))


def has_section(lesson: Lesson) -> bool:
    """Return whether a lesson has the section "If it fails"."""
    return HEADING in markdown.source_lines(lesson)


def list_lesson_failures(lesson: Lesson) -> Iterator[ProgramMistake]:
    """Yield a row for each error that a lesson quotes."""
    section = _SECTION.search("\n".join(markdown.source_lines(lesson)) + "\n")
    for item in _ITEM.finditer(section["items"] if section else ""):
        errors = [
            code for code in _CODE.findall(" ".join(item["head"].split())) if _is_specific(code)
        ]
        if errors:
            pattern = re.compile("|".join(_pattern(error) for error in errors))
            yield ProgramMistake(
                error=pattern,
                means=_parse_explanation(item),
                anywhere=True,
                read=lesson.id,
                title=lesson.title,
            )


def _is_specific(error: str) -> bool:
    """Return whether a quoted error is specific enough to identify the failure."""
    words = error.replace("...", " ").split()
    if len(words) > 1:
        return len(words) > 2 or len(error) >= _LONG
    return error.endswith("Error") and not hasattr(builtins, error)


def _pattern(error: str) -> str:
    """Return a pattern for an error quoted in a lesson, in which `...` matches any text."""
    pieces = [re.escape(piece.strip()).replace(r"\ ", r"\s+") for piece in error.split("...")]
    return r".*".join(
        rf"(?<!\w){pieces[0]}" if not number else piece for number, piece in enumerate(pieces)
    )


def _parse_explanation(item: re.Match[str]) -> str:
    """Return a list item's explanation, including its heading if one sentence spans both."""
    head = item["head"].strip()
    text = item["says"] if head.endswith((".", "?", "!")) else head + item["says"]
    return markdown.strip_links(" ".join(text.split()))

"""What lessons say of an error under "If it fails", as rows beside those of `mistakes.yml`."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from pathlib import Path

from tpustarter import content
from tpustarter.content import Lesson
from tpustarter.explain.mistakes import Mistake
from tpustarter.learning import markdown
from tpustarter.problem import Problem

HEADING = "## If it fails"
_SECTION = re.compile(rf"^{HEADING}\n(?P<items>.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^\* +\*\*(?P<head>.*?)\*\*(?P<says>.*?)(?=^\* |\Z)", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`]+)`")
_LONG = 20
"""Letters from which two words are no coincidence in an error; fewer need three."""


def read(folder: Path | None = None, first: str = "") -> list[Mistake]:
    """Return the errors that lessons name; none where the lessons cannot be read.

    Args:
        folder: The lessons; None for those of the program.
        first: The lesson in which the error happened, whose words come first. Of the others the
            one that quotes most of it does.
    """
    try:
        lessons = content.read_lessons(folder)
    except Problem:  # whoever opens them is told; an explanation has its other rows
        return []
    rows = [row for lesson in lessons for row in of_lesson(lesson)]
    return sorted(rows, key=lambda row: (row.read != first, -len(row.error.pattern)))


def has_section(lesson: Lesson) -> bool:
    """Return whether a lesson says what can go wrong in it."""
    return HEADING in markdown.source_lines(lesson)


def of_lesson(lesson: Lesson) -> Iterator[Mistake]:
    """Yield a row for each error that a lesson names word by word."""
    section = _SECTION.search("\n".join(markdown.source_lines(lesson)) + "\n")
    for item in _ITEM.finditer(section["items"] if section else ""):
        errors = [code for code in _CODE.findall(" ".join(item["head"].split())) if _tells(code)]
        if errors:
            pattern = re.compile("|".join(_pattern(error) for error in errors))
            yield Mistake(
                pattern, means=_says(item), anywhere=True, read=lesson.id, title=lesson.title
            )


def _tells(error: str) -> bool:
    """Return whether a text is found in no other error by chance."""
    words = error.replace("...", " ").split()
    if len(words) > 1:
        return len(words) > 2 or len(error) >= _LONG
    return error.endswith("Error") and not hasattr(builtins, error)


def _pattern(error: str) -> str:
    """Return a pattern for an error as a lesson writes it: three dots stand for anything."""
    pieces = [re.escape(piece.strip()).replace(r"\ ", r"\s+") for piece in error.split("...")]
    return r".*".join(rf"(?<!\w){pieces[0]}" if not number else piece
                      for number, piece in enumerate(pieces))  # fmt: skip


def _says(item: re.Match[str]) -> str:
    """Return what is said of it: behind the head, or with it where the sentence begins there."""
    head = item["head"].strip()
    text = item["says"] if head.endswith((".", "?", "!")) else head + item["says"]
    return markdown.without_links(" ".join(text.split()))

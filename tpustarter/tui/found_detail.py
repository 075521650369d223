"""What is said beside a list of a marked word, check, exercise or older claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.content import Content

from tpustarter.learning import glossary, markdown
from tpustarter.terminal import visible
from tpustarter.tui import lesson_rows
from tpustarter.tui.lines import Hanging, Lines, Stack, heading, prose, typed

if TYPE_CHECKING:
    from tpustarter.content import Check, Lesson
    from tpustarter.learning.exercises import Exercise
    from tpustarter.learning.search import Spot
    from tpustarter.learning.then_now import Claim
    from tpustarter.tui.known import Course

LABEL = 10
"""Columns of what stands before a short text."""

USERS = "Lessons that use it"


def around(spot: Spot) -> list[Lines | Content]:
    """Return what a lesson says where something was found in it: the whole paragraph."""
    return [heading(visible(spot.heading)), lesson_rows.marked(spot.paragraph), Content("")]


def word(name: str, meaning: str, course: Course | None) -> Stack:
    """Return what a word of the glossary means, and which lessons use it."""
    texts = [" ".join(one.split()) for one in meaning.split("\n\n")]
    pieces = list[Lines | Content](
        _parted([Content(visible(markdown.plain(one))) for one in texts])
    )
    return Stack([*pieces, *users(name, course)])


def users(name: str, course: Course | None) -> list[Lines | Content]:
    """Return the lessons that use a word of the glossary, below a title; nothing without any."""
    titles = [Hanging("  ", visible(lesson.title)) for lesson in using(name, course)]
    return [Content(""), heading(USERS), *titles] if titles else []


def using(name: str, course: Course | None) -> list[Lesson]:
    """Return the lessons that use a word of the glossary."""
    link = glossary.link(markdown.anchor(name))
    return [one for one in course.lessons.values() if link in one.text] if course else []


def check(what: Check) -> Stack:
    """Return what a check proves, and where one can read about it."""
    rows = [("level", what.level), ("lesson", what.lesson), ("source", what.source)]
    said = prose("Enter runs it, and c on the first screen runs all checks of its level.")
    return Stack([*_parted([prose(what.title), said]), Content(""), *_labelled(rows)])


def exercise(what: Exercise, key: str = "") -> Iterator[Lines | Content]:
    """Yield what it asks for, its lesson with the key to it, and the command that does the same."""
    for paragraph in what.task.split("\n\n"):
        yield Hanging("", prose(" ".join(paragraph.split())))
        yield Content("")
    yield Hanging("lesson   ", f"{visible(what.lesson.title)}{key}")
    yield Hanging("command  ", typed(Content(f"tpustarter learn --exercise {what.id}")))


def claim(what: Claim) -> Stack:
    """Return what older tutorials say, and what is true today."""
    parts = [heading("What older tutorials say"), prose(what.then), Content(""),
             heading("Today"), prose(what.now)]  # fmt: skip
    lesson = (what.lesson or "").partition("#")[0]
    rows = [("lesson", lesson), ("shown by", what.proof or ""), ("source", what.source)]
    return Stack([*parts, Content(""), *_labelled(rows)])


def _parted(paragraphs: list[Content]) -> Iterator[Content]:
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield Content("")
        yield paragraph


def _labelled(rows: list[tuple[str, str]]) -> Iterator[Hanging]:
    """Yield short texts with their labels; those that are empty are left out."""
    return (Hanging(f"{name:<{LABEL}}", visible(text)) for name, text in rows if text)

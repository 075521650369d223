"""The details of a search result: a word, check, exercise or claim of older tutorials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.content import Content

from tpustarter.learning.content import glossary, markdown
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.text_layout import (
    HangingText,
    LaidOutLines,
    StackedText,
    adapt_commands,
    group_heading,
    style_sentence,
)
from tpustarter.tui.library import lesson_rows

if TYPE_CHECKING:
    from tpustarter.core.content import Check, Lesson
    from tpustarter.learning.content.exercises import Exercise
    from tpustarter.learning.content.tutorial_claims import TutorialClaim
    from tpustarter.learning.search.search import FoundLine
    from tpustarter.tui.home.course_facts import Course

LABEL = 10
"""The width of the label before a short text, in columns."""

USERS = "Lessons that use it"


def lay_out_paragraph(found_line: FoundLine) -> list[LaidOutLines | Content]:
    """Return the paragraph that contains a search result, below its heading."""
    return [
        group_heading(escape_text(found_line.heading)),
        lesson_rows.mark_terms(found_line.paragraph),
        Content(""),
    ]


def describe_word(name: str, meaning: str, course: Course | None) -> StackedText:
    """Return a glossary word's meaning, and the lessons that use it."""
    texts = [" ".join(one.split()) for one in meaning.split("\n\n")]
    pieces = list[LaidOutLines | Content](
        _parted([Content(escape_text(markdown.strip_markup(one))) for one in texts])
    )
    if users := find_lessons_using(name, course):
        pieces += [Content(""), group_heading(USERS)]
        pieces += [HangingText("  ", escape_text(lesson.title)) for lesson in users]
    return StackedText(pieces)


def find_lessons_using(name: str, course: Course | None) -> list[Lesson]:
    """Return the lessons that use a glossary word."""
    link = glossary.format_glossary_target(markdown.heading_anchor(name))
    return [one for one in course.lessons.values() if link in one.text] if course else []


def describe_check(what: Check) -> StackedText:
    """Return a check's claim, level, lesson and source."""
    rows = [("level", what.level), ("lesson", what.lesson), ("source", what.source)]
    said = style_sentence("Enter runs it, and c on the first screen runs all checks of its level.")
    return StackedText(
        [*_parted([style_sentence(what.title), said]), Content(""), *_labelled(rows)]
    )


def describe_exercise(what: Exercise, key: str = "") -> Iterator[LaidOutLines | Content]:
    """Yield an exercise's task, lesson and command.

    `key` is appended to the lesson's title, such as ` (l)` if l opens the lesson.
    """
    for paragraph in what.task.split("\n\n"):
        yield HangingText("", style_sentence(" ".join(paragraph.split())))
        yield Content("")
    yield HangingText("lesson   ", f"{escape_text(what.lesson.title)}{key}")
    yield HangingText(
        "command  ", adapt_commands(Content(f"tpustarter learn --exercise {what.id}"))
    )


def describe_tutorial_claim(what: TutorialClaim) -> StackedText:
    """Return a claim of older tutorials and what is true today."""
    parts = [
        group_heading("What older tutorials say"),
        style_sentence(what.then),
        Content(""),
        group_heading("Today"),
        style_sentence(what.now),
    ]
    lesson = (what.lesson or "").partition("#")[0]
    rows = [("lesson", lesson), ("shown by", what.proof or ""), ("source", what.source)]
    return StackedText([*parts, Content(""), *_labelled(rows)])


def _parted(paragraphs: list[Content]) -> Iterator[Content]:
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield Content("")
        yield paragraph


def _labelled(rows: list[tuple[str, str]]) -> Iterator[HangingText]:
    """Yield short texts with their labels, without empty texts."""
    return (HangingText(f"{name:<{LABEL}}", escape_text(text)) for name, text in rows if text)

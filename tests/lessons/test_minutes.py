"""Minutes in lesson headers, computed from their content; `pytest --golden` writes them."""

from __future__ import annotations

import re

import pytest

from tpustarter.core import content
from tpustarter.core.content import Lesson
from tpustarter.learning.content.markdown import parse_tokens

WORDS_A_MINUTE = 200
"""Reading in order to learn, which is slower than the 238 of ordinary non-fiction.
Sources: Carver, Reading rate: theory, research, and practical implications, Journal of Reading 36
(1992); Brysbaert, How many words do we read per minute?, Journal of Memory and Language 109 (2019).
"""
LINES_A_MINUTE = 20
"""Lines of code, with a look at what they print. This and the next three are our own estimate: they
give the 30 minutes that a reader took for `jax/collectives`."""
MINUTES_OF_A_TRY = 2
MINUTES_OF_A_QUESTION = 0.5
MINUTES_OF_AN_EXERCISE = 5
TOLERANCE = 0.2
"""Of the measure: a changed paragraph asks for no new header."""

COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
TARGET = re.compile(r"\]\([^)]*\)")


def measured(lesson: Lesson) -> int:
    """Return the minutes of a lesson by its words, lines of code, questions and exercises."""
    minutes = float(MINUTES_OF_AN_EXERCISE * len(lesson.header.get("exercises") or ()))
    for token in parse_tokens(COMMENT.sub("", lesson.text)):
        kind, _, rest = token.info.partition(" ")
        if token.type == "inline":
            minutes += len(TARGET.sub("]", token.content).split()) / WORDS_A_MINUTE
        elif token.type == "fence" and kind == "quiz":
            minutes += MINUTES_OF_A_QUESTION + len(token.content.split()) / WORDS_A_MINUTE
        elif token.type == "fence" and kind != "output" and not rest.startswith("answer "):
            minutes += len(token.content.split("\n")) / LINES_A_MINUTE
            minutes += MINUTES_OF_A_TRY * rest.startswith("try ")
    return max(1, round(minutes))


def test_minutes_in_headers_are_those_measured(request: pytest.FixtureRequest) -> None:
    """The minutes of every lesson agree with its content within the tolerance."""
    lessons = content.read_lessons()
    told = {lesson.id: (lesson.header["minutes"], measured(lesson)) for lesson in lessons}
    if request.config.getoption("--golden"):
        for lesson in lessons:
            text = lesson.path.read_text(encoding="utf-8")
            line = f"\nminutes: {told[lesson.id][1]}\n"
            lesson.path.write_text(re.sub(r"\nminutes: \d+\n", line, text, count=1), "utf-8")
        return

    wrong = {one: pair for one, pair in told.items() if abs(pair[0] / pair[1] - 1) > TOLERANCE}

    assert {} == wrong


def test_an_exercise_and_a_paragraph_take_their_minutes() -> None:
    """400 words count two minutes and an exercise five; output and comments count none."""
    text = f"{'word ' * 400}\n\n```output of=a on=any\n{'1' * 99}\n```\n\n<!--\n{'x ' * 500}\n-->\n"
    lesson = content.read_lessons()[0]

    assert 7 == measured(Lesson("a/b", lesson.path, {"exercises": ["one"]}, text))

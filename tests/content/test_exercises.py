"""Every exercise fails as it ships, and passes with its solution."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.learning.test_exercises import KINDS
from tests.support.compiler_flags import fast_compiler
from tests.support.made_lessons import laptop, make_session
from tests.support.shipped import (
    DEFAULT,
    exercise_is_judged,
    shipped_exercises,
)
from tpustarter.learning.content.exercises import Exercise
from tpustarter.learning.run.lesson_process import LessonSession


@pytest.fixture(scope="module")
def warm() -> Iterator[dict[object, LessonSession]]:
    """Return one session for each framework, and one for the present lesson with files.

    Lessons about compiling have a session of their own, which loads no stored program.
    """
    sessions: dict[object, LessonSession] = {}
    yield sessions
    for session in sessions.values():
        session.close()


EXERCISES = [one for one in shipped_exercises(*DEFAULT) if one.id not in KINDS]
"""The suite judges those of `KINDS`."""


@pytest.mark.usefixtures("stored_programs")
@pytest.mark.parametrize("one", EXERCISES, ids=lambda one: one.id)
def test_exercise_fails_as_shipped_and_passes_when_solved(
    one: Exercise, warm: dict[object, LessonSession]
) -> None:
    """The shipped exercise fails at an assertion that names what is missing."""
    lesson = one.lesson
    kind = "with files" if lesson.code_names else (lesson.framework, lesson.fresh)
    session = warm.get(kind)
    if session and lesson.code_names and session.lesson.id != lesson.id:
        session.close()
        session = None
    session = warm[kind] = session or make_session(lesson, machine=laptop(fast_compiler()))
    exercise_is_judged(one, session)

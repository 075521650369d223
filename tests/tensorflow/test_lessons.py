"""The TensorFlow lessons and exercises hold on CPU devices; none of it was tried on a TPU."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

pytest.importorskip("tensorflow", reason="This Python has no TensorFlow; the lane's has.")

from tests.support import shipped
from tests.support.made_lessons import make_session
from tests.support.places import REPOSITORY
from tpustarter.content import Lesson
from tpustarter.learning.exercises import Exercise
from tpustarter.learning.lesson_process import LessonSession

LESSONS = [one for one in shipped.lessons("tensorflow") if one.id.startswith("tensorflow/")]
EXERCISES = shipped.shipped_exercises("tensorflow")
DEVICES = 8
"""As many as the outputs in the lessons were printed with."""
ENV = {**os.environ, "PYTHONPATH": str(REPOSITORY)}


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: one.id)
def test_every_block_of_a_lesson_does_what_it_says(lesson: Lesson) -> None:
    """As the lesson stands, in one process."""
    shipped.every_block_holds(lesson, ENV, devices=DEVICES)


@pytest.fixture
def session() -> Iterator[LessonSession]:
    """Return a session of its own: an exercise may make the devices by itself."""
    opened = make_session(EXERCISES[0].lesson, devices=DEVICES)
    yield opened
    opened.close()


@pytest.mark.parametrize("one", EXERCISES, ids=lambda one: one.id)
def test_every_exercise_fails_as_shipped_and_passes_with_its_solution(
    one: Exercise, session: LessonSession
) -> None:
    """By an assertion that says what is missing, not by an accident."""
    shipped.exercise_is_judged(one, session)

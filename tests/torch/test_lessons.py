"""The PyTorch lessons and exercises hold on CPU devices; none of it was tried on a TPU."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support import shipped
from tests.support.made_lessons import make_session
from tests.support.places import REPOSITORY
from tpustarter.core.content import Lesson
from tpustarter.learning.content.exercises import Exercise
from tpustarter.learning.run.lesson_process import LessonSession

EXERCISES = shipped.shipped_exercises("torch_xla")
DEVICES = 8
"""As many as the outputs in the lessons were printed with."""
ON_ONE_DEVICE = "pytorch/bert-with-accelerate"
"""It takes one device itself: Accelerate waits for a process on each that it sees."""
ENV = {**os.environ, "PYTHONPATH": str(REPOSITORY)}


@pytest.mark.parametrize("lesson", shipped.lessons("torch_xla"), ids=lambda one: one.id)
def test_every_lesson_block_prints_its_output(lesson: Lesson) -> None:
    """Every block prints its output, in one process."""
    devices = 1 if lesson.id == ON_ONE_DEVICE else DEVICES
    shipped.every_block_holds(lesson, ENV, devices=devices)


@pytest.fixture(scope="module")
def session() -> Iterator[LessonSession]:
    """Return one session: PyTorch/XLA is started once, as in the app."""
    opened = make_session(EXERCISES[0].lesson, devices=DEVICES)
    yield opened
    opened.close()


@pytest.mark.parametrize("one", EXERCISES, ids=lambda one: one.id)
def test_exercise_fails_as_shipped_and_passes_when_solved(
    one: Exercise, session: LessonSession
) -> None:
    """An unsolved exercise fails by its own assertion, and passes when it's solved."""
    shipped.exercise_is_judged(one, session)

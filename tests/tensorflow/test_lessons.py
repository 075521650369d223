"""The TensorFlow lessons and exercises hold on CPU devices; none of it was tried on a TPU."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

pytest.importorskip("tensorflow", reason="This Python has no TensorFlow; the lane's has.")

from tests.support import shipped
from tests.support.made_lessons import laptop, make_session, run_block
from tests.support.places import REPOSITORY
from tpustarter.core.content import Lesson
from tpustarter.learning.content.blocks import Block
from tpustarter.learning.content.exercises import Exercise
from tpustarter.learning.run.lesson_process import LessonSession

LESSONS = [one for one in shipped.lessons("tensorflow") if one.id.startswith("tensorflow/")]
EXERCISES = shipped.shipped_exercises("tensorflow")
DEVICES = 8
"""As many as the outputs in the lessons were printed with."""
ENV = {**os.environ, "PYTHONPATH": str(REPOSITORY)}


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: one.id)
def test_every_lesson_block_prints_its_output(lesson: Lesson) -> None:
    """Every block prints its output, in one process."""
    shipped.every_block_holds(lesson, ENV, devices=DEVICES)


@pytest.fixture
def session() -> Iterator[LessonSession]:
    """Return a session of its own: collectives of two exercises clash in one process."""
    opened = make_session(EXERCISES[0].lesson, devices=DEVICES)
    yield opened
    opened.close()


@pytest.mark.parametrize("one", EXERCISES, ids=lambda one: one.id)
def test_exercise_fails_as_shipped_and_passes_when_solved(
    one: Exercise, session: LessonSession
) -> None:
    """An unsolved exercise fails by its own assertion, and passes when it's solved."""
    shipped.exercise_is_judged(one, session)


LOUD = Block(
    "loud",
    """
import os
import tensorflow as tf
[*tf.data.Dataset.range(2)]  # its end is a line of the log
print(os.environ["TF_CPP_MIN_LOG_LEVEL"])
""",
    1,
    60.0,
    (),
    alone=True,
)


@pytest.mark.parametrize(("own", "level"), [({}, "2"), ({"TF_CPP_MIN_LOG_LEVEL": "0"}, "0")])
def test_tensorflow_log_is_hidden_unless_user_enables(own: dict[str, str], level: str) -> None:
    """TensorFlow's log, a dozen lines between outputs, is hidden unless the user enables it."""
    opened = make_session(LESSONS[0], devices=DEVICES, machine=laptop({**ENV, **own}))
    try:
        result = run_block(opened, LOUD)
    finally:
        opened.close()
    printed = result.output.splitlines()

    assert level in printed  # a line of the log may come behind it
    assert (level == "0") == (len(printed) > 1)

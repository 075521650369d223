"""The lesson on Keras with JAX holds on CPU devices; it was not tried on a TPU."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("jax", reason="This Python has no JAX beside Keras; another environment has.")
pytest.importorskip("keras", reason="This Python has no Keras; the lane's has.")

from tests.support import shipped
from tests.support.places import REPOSITORY
from tpustarter.core.content import Lesson

LESSONS = shipped.lessons("keras")
ENV = {**os.environ, "PYTHONPATH": str(REPOSITORY), "KERAS_BACKEND": "jax"}


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: one.id)
def test_every_lesson_block_prints_its_output(lesson: Lesson) -> None:
    """Every block prints its output, in one process with 8 devices."""
    shipped.every_block_holds(lesson, ENV, devices=8)

"""Every lesson is a valid notebook with all its blocks."""

from __future__ import annotations

import pytest

from tests.learning.test_notebook import LESSONS, notebook_is_whole
from tpustarter.content import Lesson


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.id)
def test_every_lesson_is_a_valid_notebook(lesson: Lesson) -> None:
    """No block is lost, and no link leads to a file."""
    notebook_is_whole(lesson)

"""Every block of every lesson does what the lesson says, on eight virtual CPU devices."""

from __future__ import annotations

import pytest

from tests.cli.test_learn import environment
from tests.support import shipped
from tpustarter.content import Lesson


@pytest.mark.parametrize("lesson", shipped.lessons(*shipped.DEFAULT), ids=lambda one: one.id)
def test_every_block_holds(lesson: Lesson) -> None:
    """The lessons are true here."""
    shipped.every_block_holds(lesson, environment())

"""Every block of a newcomer's first-day lessons, also run in the newest Python."""

from __future__ import annotations

import pytest

from tests.cli.test_learn import environment
from tests.support import shipped
from tpustarter.core.content import Lesson
from tpustarter.learning.content.paths import read_paths

[FIRST_DAY] = [path for path in read_paths() if path.id == "first-day"]
LESSONS = [one for one in shipped.lessons(*shipped.DEFAULT) if one.id in FIRST_DAY.lessons]


@pytest.mark.usefixtures("stored_programs")
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: one.id)
def test_every_block_of_first_day_holds(lesson: Lesson) -> None:
    """The block of a shipped lesson has the result and output that the lesson states."""
    shipped.every_block_holds(lesson, environment())

"""Every block of every lesson, run on eight virtual CPU devices.

Blocks of the first day are in `test_first_day.py`.
"""

from __future__ import annotations

import pytest

from tests.cli.test_learn import KINDS, environment
from tests.content.test_first_day import FIRST_DAY
from tests.support import shipped
from tpustarter.core.content import Lesson

RUN_BY_OTHER_TESTS = {*KINDS, *FIRST_DAY.lessons}
"""The suite runs those of `KINDS`."""
LESSONS = [one for one in shipped.lessons(*shipped.DEFAULT) if one.id not in RUN_BY_OTHER_TESTS]


@pytest.mark.usefixtures("stored_programs")
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: one.id)
def test_every_block_holds(lesson: Lesson) -> None:
    """The block of a shipped lesson has the result and output that the lesson states."""
    shipped.every_block_holds(lesson, environment())

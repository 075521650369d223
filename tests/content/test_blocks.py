"""Every block of every lesson does what the lesson says, on eight virtual CPU devices.

Those of the first day are in a file of their own.
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
    """The lessons are true here."""
    shipped.every_block_holds(lesson, environment())

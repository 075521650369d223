"""The lesson on a whole program shows unchanged lines of its two programs."""

from __future__ import annotations

import re

import pytest

from tpustarter.core import content
from tpustarter.learning.content import code_files

[LESSON] = [one for one in content.read_lessons() if one.id == "tensorflow/a-whole-program"]
SHOWN = re.findall(r"^```py\n(.*?)^```", LESSON.path.read_text(encoding="utf-8"), re.M | re.S)
PROGRAMS = [code_files.read_code_file(LESSON, name) for name in ("estimator_2019.py", "train.py")]


def test_lesson_shows_parts_of_both_programs() -> None:
    """The lesson shows code of both programs."""
    assert all(any(text in program for text in SHOWN) for program in PROGRAMS)


@pytest.mark.parametrize("text", SHOWN, ids=lambda text: text.split("\n", 1)[0].strip())
def test_shown_code_stands_in_either_program(text: str) -> None:
    """Shown code is a literal part of one of the programs."""
    assert any(text in program for program in PROGRAMS)

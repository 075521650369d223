"""The TPU figures in the project's lessons agree with the TPU compiler."""

from __future__ import annotations

import pytest

from tests.support import rehearsed


@pytest.mark.parametrize("cell", rehearsed.CELLS, ids=lambda one: f"{one.program}, {one.tpu}")
def test_each_number_stands_in_its_lesson(cell: rehearsed.Cell) -> None:
    """Each stored number is in its lesson, so `tests.support.rehearsed` compares them."""
    text = rehearsed.stated(cell)
    number, unit = text.split()

    assert text == rehearsed.as_stated(round(float(number) * rehearsed.UNITS[unit]), text)


@pytest.mark.parametrize("source", [rehearsed.INT8, rehearsed.EXPERTS])
def test_lesson_numbers_match_compiler(source: str) -> None:
    """The numbers of the two quickest files match the compiler's."""
    assert [] == [
        (cell, text, found) for cell, text, found in rehearsed.compared(source) if text != found
    ]

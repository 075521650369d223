"""How much of a path Home shows: its open stages, and what one can do beside it where that fits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING

from textual.geometry import Size

from tpustarter.tui import home_rows
from tpustarter.tui.widgets import Row

if TYPE_CHECKING:
    from tpustarter.learning.standing import Standing

OPENING = 6
"""Lines above the stages: the next step and how far one is."""
HIGH = 35
"""Lines of a screen from which what one can do beside the path is in sight."""
FEWEST = 3
"""Lessons of the stage with the next one that are shown at least."""


def open_stages(standing: Standing, following: str | None, free: int) -> set[int]:
    """Return the stage that the next lesson is in, and those after it that fit.

    Args:
        standing: The place on the path.
        following: The next lesson.
        free: Lines of the list that are not needed for what stands above and below the path.
    """
    stages = standing.stages
    current = next((n for n, stage in enumerate(stages) if following in stage.lessons), None)
    if current is None:
        return set()
    free -= OPENING + len(stages) + len(stages[current].lessons)
    opened = {current}
    for number, stage in enumerate(stages[current + 1 :], current + 1):
        free -= len(stage.lessons)
        if free < 0:
            break
        opened.add(number)
    return opened


def with_also(
    above: list[Row], path: Callable[[int | None], list[Row]], size: Size, *, is_whole: bool
) -> list[Row]:
    """Return the rows with what one can do beside the path, above it where nothing fits below.

    Args:
        above: What stands above the path.
        path: Gives the path, of the stage with the next lesson at most so many lessons.
        size: The size of the list.
        is_whole: Whether all lessons are shown of a stage that is open.
    """
    most = [None] if is_whole else [None, *range(home_rows.MOST_IN_STAGE - 1, FEWEST - 1, -1)]
    brief = [*home_rows.also_in_brief()]
    for also, count in product(([*home_rows.also_rows()], [Row(None, ""), *brief]), most):
        rows = [*above, *path(count), *also]
        if sum(len(row.line().lines(size.width - 2)) for row in rows) <= size.height:
            return rows
    return [*above, *brief, Row(None, ""), *path(most[-1])]

"""The layout of the home screen's list: the open stages, and other activities if they fit."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING

from textual.geometry import Size

from tpustarter.tui.home import home_rows
from tpustarter.tui.kit.row_list import Row

if TYPE_CHECKING:
    from tpustarter.learning.progress.path_progress import PathProgress

OPENING = 6
"""Number of lines above the stages, for the next step and the progress."""
HIGH = 35
"""Minimum screen height, in lines, for showing other activities."""
FEWEST = 2
"""Minimum number of lessons shown of the stage with the next lesson."""


def choose_open_stages(progress: PathProgress, following: str | None, free: int) -> set[int]:
    """Return the stage with the next lesson, and the following stages that fit.

    Args:
        progress: The progress on the path.
        following: The next lesson.
        free: Number of lines of the list that other rows do not need.
    """
    stages = progress.stages
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


def add_activities(
    above: list[Row], path: Callable[[int | None], list[Row]], size: Size, *, is_whole: bool
) -> list[Row]:
    """Return the rows with other activities below the path, or above it if they do not fit.

    Args:
        above: The rows above the path.
        path: Returns the path's rows; its argument limits the lessons of the current stage.
        size: The list's size.
        is_whole: Whether an open stage shows all of its lessons.
    """
    most = [None] if is_whole else [None, *range(home_rows.MOST_IN_STAGE - 1, FEWEST - 1, -1)]
    brief = [*home_rows.make_brief_activity_rows()]
    for also, count in product(([*home_rows.make_activity_rows()], [Row(None, ""), *brief]), most):
        rows = [*above, *path(count), *also]
        if sum(len(row.line().lines(size.width - 2)) for row in rows) <= size.height:
            return rows
    return [*above, *brief, Row(None, ""), *path(most[-1])]

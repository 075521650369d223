"""Which lesson comes next: the path that the learner follows, and the place on it."""

from __future__ import annotations

from collections.abc import Iterable

from tpustarter import state
from tpustarter.content import LessonPath

ON_TPU, ELSEWHERE = "fresh-tpu-vm", "laptop"
"""The paths of those who chose none."""


def path_to_follow(
    paths: Iterable[LessonPath], *, on_tpu: bool, chosen: str | None = None
) -> LessonPath | None:
    """Return the path the learner chose, else the one for this kind of machine.

    Args:
        paths: All paths; None is returned where there is none.
        on_tpu: Whether lessons run on a TPU here.
        chosen: The id of the chosen path; None for what was chosen in the app.
    """
    paths_by_id = {path.id: path for path in paths}
    default_id = ON_TPU if on_tpu else ELSEWHERE
    chosen_id = chosen or str(state.load("settings").get("path"))
    return (
        paths_by_id.get(chosen_id)
        or paths_by_id.get(default_id)
        or next(iter(paths_by_id.values()), None)
    )


def lesson_after(
    lesson_id: str, path: LessonPath | None, paths: Iterable[LessonPath]
) -> str | None:
    """Return the lesson that follows one on the path, else on the first path that has it.

    At the end of a path nothing follows.
    """
    for candidate in (*((path,) if path else ()), *paths):
        if lesson_id in candidate.lessons:
            place = candidate.lessons.index(lesson_id)
            return next(iter(candidate.lessons[place + 1 :]), None)
    return None

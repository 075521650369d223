"""The order of lessons for the learner: the followed path, and the next lesson on it."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tpustarter.core import state
from tpustarter.machine.notebook_services import find_notebook_service

if TYPE_CHECKING:
    from tpustarter.learning.content.paths import LessonPath

ON_TPU, ON_LAPTOP, WITH_TORCH = "fresh-tpu-vm", "laptop", "from-pytorch"
"""The paths for kinds of machines; the first two are the defaults."""


def suggest_lesson_path(
    env: Mapping[str, str], *, on_tpu: bool, frameworks: Collection[str]
) -> tuple[str, str]:
    """Return the id of the path that suits a machine, and the reason as a clause.

    Args:
        env: The environment variables; the path of a notebook service has its name as id.
        on_tpu: True if lessons run on a TPU.
        frameworks: Import names of the frameworks in the Python under test.
    """
    if service := find_notebook_service(env):
        return service.name.lower(), f"it is one of {service.name}'s"
    if "torch" in frameworks and "jax" not in frameworks:
        return WITH_TORCH, "PyTorch is installed, and JAX isn't"
    if on_tpu:
        return ON_TPU, "it has a TPU"
    return ON_LAPTOP, "it has no TPU"


def choose_path(path_id: str) -> None:
    """Save the path that the learner chose.

    Raises:
        Problem: It cannot be saved.
    """
    state.save_state("settings", {**state.load_state("settings"), "path": path_id})


def find_path_to_follow(
    paths: Iterable[LessonPath],
    *,
    on_tpu: bool,
    chosen: str | None = None,
    env: Mapping[str, str] | None = None,
) -> LessonPath | None:
    """Return the path that the learner chose, or the default for this kind of machine.

    Args:
        paths: All paths; without any, None is returned.
        on_tpu: True if lessons run on a TPU.
        chosen: The id of the chosen path; None for the one chosen in the app.
        env: The environment variables, by which a notebook service is recognised.
    """
    paths_by_id = {path.id: path for path in paths}
    service = find_notebook_service(env or {})
    default_id = service.name.lower() if service else ON_TPU if on_tpu else ON_LAPTOP
    chosen_id = chosen or str(state.load_state("settings").get("path"))
    return (
        paths_by_id.get(chosen_id)
        or paths_by_id.get(default_id)
        or next(iter(paths_by_id.values()), None)
    )


@dataclass(frozen=True)
class NextLessonInCourse:
    """The lesson that follows another in the course."""

    path: LessonPath | None
    """The path that the learner follows; None if there is none."""
    kind: Literal["next", "left", "back", "end"]
    """`next`: the path's next lesson that is not done, or its next lesson if the whole path is
    done.
    `left`: all later lessons are done, and an earlier one is open. `back`: this lesson is not on
    the path. `end`: no lesson is left.
    """
    lesson: str | None
    """The id of the next lesson; None at the end."""


def find_first_unfinished_lesson(
    lessons: Iterable[str], done: Container[str], read: Container[str] = ()
) -> str | None:
    """Return the first lesson neither done nor read; without one, the first not done."""
    left = [name for name in lessons if name not in done]
    return next((name for name in left if name not in read), next(iter(left), None))


def find_next_lesson(
    lesson_id: str, path: LessonPath | None, done: Container[str], read: Container[str] = ()
) -> NextLessonInCourse:
    """Return the lesson after another; `done` and `read` as for `find_first_unfinished_lesson`."""
    lessons = path.lessons if path else ()
    left = find_first_unfinished_lesson((name for name in lessons if name != lesson_id), done, read)
    if lesson_id not in lessons:
        following = left or next(iter(lessons), None)
        return NextLessonInCourse(path, "back" if following else "end", following)
    after = lessons[lessons.index(lesson_id) + 1 :]
    following = find_first_unfinished_lesson(after, done, read) or (
        None if left else next(iter(after), None)
    )
    if following:
        return NextLessonInCourse(path, "next", following)
    return NextLessonInCourse(path, "left" if left else "end", left)

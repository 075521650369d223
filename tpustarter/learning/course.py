"""Which lesson comes next: the path that the learner follows, and the place on it."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tpustarter import state

if TYPE_CHECKING:
    from tpustarter.learning.paths import LessonPath

ON_TPU, ELSEWHERE, ON_COLAB, WITH_TORCH = "fresh-tpu-vm", "laptop", "colab", "from-pytorch"
"""The paths that suit a kind of machine; the first two are those of whoever chose none."""


def suggestion(
    env: Mapping[str, str], *, on_tpu: bool, frameworks: Collection[str]
) -> tuple[str, str]:
    """Return the id of the path that suits a machine, and why, to be said of the machine.

    Args:
        env: Its variables; Colab sets some of its own.
        on_tpu: Whether lessons run on a TPU here.
        frameworks: Import names of what the Python under test has.
    """
    if any(name.startswith("COLAB_") for name in env):
        return ON_COLAB, "it is one of Colab's"
    if "torch" in frameworks and "jax" not in frameworks:
        return WITH_TORCH, "PyTorch is installed, and JAX isn't"
    if on_tpu:
        return ON_TPU, "it has a TPU"
    return ELSEWHERE, "it has no TPU"


def follow(path_id: str) -> None:
    """Remember the path that the learner chose; raises Problem on a full disk."""
    state.save("settings", {**state.load("settings"), "path": path_id})


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


@dataclass(frozen=True)
class Onward:
    """Where the course goes on after a lesson."""

    path: LessonPath | None
    """The path that the learner follows; None where there is none."""
    kind: Literal["next", "left", "back", "end"]
    """The next lesson of the path that is not done; where all that follow are, the first that is
    left, or the end itself; for a lesson that is not on the path, the way back to it. Where the
    whole path is done, its order goes on."""
    lesson: str | None
    """The id of the lesson to go on with; None at the end."""


def first_left(
    lessons: Iterable[str], done: Container[str], read: Container[str] = ()
) -> str | None:
    """Return the first lesson that is not read, else the first that is not done, by ids."""
    left = [name for name in lessons if name not in done]
    return next((name for name in left if name not in read), next(iter(left), None))


def onward(
    lesson_id: str, path: LessonPath | None, done: Container[str], read: Container[str] = ()
) -> Onward:
    """Return where to go on after a lesson; `done` and `read` are as `first_left` takes them."""
    lessons = path.lessons if path else ()
    left = first_left((name for name in lessons if name != lesson_id), done, read)
    if lesson_id not in lessons:
        following = left or next(iter(lessons), None)
        return Onward(path, "back" if following else "end", following)
    after = lessons[lessons.index(lesson_id) + 1 :]
    following = first_left(after, done, read) or (None if left else next(iter(after), None))
    if following:
        return Onward(path, "next", following)
    return Onward(path, "left" if left else "end", left)

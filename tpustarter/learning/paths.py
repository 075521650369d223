"""The paths through the lessons: for each kind of reader an order, in stages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tpustarter import cache, content, locations
from tpustarter.content import Lesson
from tpustarter.problem import Problem


@dataclass(frozen=True)
class Stage:
    """Some lessons of a path that belong together."""

    title: str
    """Empty where the path is short and has no stages."""
    lessons: tuple[str, ...]


@dataclass(frozen=True)
class LessonPath:
    """An order in which to read lessons, for one kind of reader."""

    id: str
    title: str
    """What the reader would say: `I have a fresh TPU VM`."""
    who: str
    """One sentence about who it is for."""
    stages: tuple[Stage, ...]

    @property
    def lessons(self) -> tuple[str, ...]:
        """Return the ids of its lessons, in order."""
        return tuple(lesson for stage in self.stages for lesson in stage.lessons)


def read_paths(folder: Path | None = None) -> list[LessonPath]:
    """Return the paths in `paths.yml`, in order; raises Problem naming what cannot be used."""
    file = (folder or locations.content("lessons")) / "paths.yml"
    try:
        paths: list[LessonPath] = []
        text = locations.read_text(file)
        with cache.opened("paths", __file__) as known:
            entries = known.value(text.encode(), lambda: content.read_yaml(text))
        for entry in entries:
            earlier = {path.id: path.stages for path in paths}
            path_id, title, who = (str(entry[key]) for key in ("id", "title", "who"))
            stages = [stage for item in entry["lessons"] for stage in _stages(item, earlier)]
            paths.append(LessonPath(path_id, title, who, _joined(stages)))
        return paths
    except (OSError, ValueError) as error:
        raise Problem(f"cannot read the paths in `{file}`: {error}") from error
    except (AttributeError, KeyError, TypeError) as error:
        keys = "`id`, `title`, `who` and `lessons`"
        raise Problem(f"the paths in `{file}` are not a list of entries with {keys}") from error


def lessons_on(path: LessonPath | None, lessons: Iterable[Lesson]) -> list[Lesson]:
    """Return those of some lessons that are on a path, in its order; none without one."""
    by_id = {lesson.id: lesson for lesson in lessons}
    return [by_id[name] for name in (path.lessons if path else ()) if name in by_id]


def _stages(item: Any, earlier: dict[str, tuple[Stage, ...]]) -> Iterable[Stage]:
    """Return what one item of a path stands for: a titled stage, a path above it, or a lesson."""
    if isinstance(item, dict):
        stages = cast("dict[Any, list[Any]]", item).items()
        return [Stage(str(title), tuple(map(str, list[Any]() + names))) for title, names in stages]
    return earlier.get(str(item), (Stage("", (str(item),)),))


def _joined(stages: Iterable[Stage]) -> tuple[Stage, ...]:
    """Return the stages with neighbours that have no title made into one."""
    joined: list[Stage] = []
    for stage in stages:
        if joined and not stage.title and not joined[-1].title:
            joined[-1] = Stage("", joined[-1].lessons + stage.lessons)
        else:
            joined.append(stage)
    return tuple(joined)

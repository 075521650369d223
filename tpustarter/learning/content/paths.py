"""The paths through the lessons, each an order in stages for one kind of reader."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tpustarter.core import cache, content, locations, yaml_rows
from tpustarter.core.content import Lesson
from tpustarter.core.problem import Problem


@dataclass(frozen=True)
class PathStage:
    """Consecutive lessons of a path that belong together."""

    title: str
    """Empty if the path is short and has no stages."""
    lessons: tuple[str, ...]


@dataclass(frozen=True)
class LessonPath:
    """An order in which to read lessons, for one kind of reader."""

    id: str
    title: str
    """A sentence in the reader's words: `I have a fresh TPU VM`."""
    who: str
    """One sentence about its readers."""
    stages: tuple[PathStage, ...]

    @property
    def lessons(self) -> tuple[str, ...]:
        """Return the ids of all lessons on the path, stage by stage."""
        return tuple(lesson for stage in self.stages for lesson in stage.lessons)


class _PathEntry(msgspec.Struct, frozen=True):
    """A path as written in the file."""

    id: str
    title: str
    who: str
    lessons: tuple[str | dict[str, tuple[str, ...]], ...]
    """Lessons, stages by title, and ids of earlier paths whose stages are included."""


def read_paths(folder: Path | None = None) -> list[LessonPath]:
    """Read the paths from `paths.yml`, in the file's order.

    Raises:
        Problem: The file cannot be used.
    """
    file = (folder or locations.content_folder("lessons")) / "paths.yml"
    try:
        paths: list[LessonPath] = []
        text = locations.read_text(file)
        with cache.open_cache("paths", __file__) as known:
            entries = known.get_or_read(text.encode(), lambda: content.read_yaml(text))
        for entry in yaml_rows.convert_value(entries, tuple[_PathEntry, ...]):
            earlier = {path.id: path.stages for path in paths}
            stages = [stage for item in entry.lessons for stage in _stages(item, earlier)]
            paths.append(LessonPath(entry.id, entry.title, entry.who, _joined(stages)))
        return paths
    except (OSError, ValueError) as error:
        raise Problem(f"cannot read the paths in `{file}`: {error}") from error


def list_lessons_on_path(path: LessonPath | None, lessons: Iterable[Lesson]) -> list[Lesson]:
    """Return the lessons on a path, in the path's order; empty without a path."""
    by_id = {lesson.id: lesson for lesson in lessons}
    return [by_id[name] for name in (path.lessons if path else ()) if name in by_id]


def _stages(
    item: str | dict[str, tuple[str, ...]], earlier: dict[str, tuple[PathStage, ...]]
) -> Iterable[PathStage]:
    """Return the stages of an item: titled stages, an earlier path's stages, or a single lesson."""
    if isinstance(item, dict):
        return [PathStage(title, names) for title, names in item.items()]
    return earlier.get(item, (PathStage("", (item,)),))


def _joined(stages: Iterable[PathStage]) -> tuple[PathStage, ...]:
    joined: list[PathStage] = []
    for stage in stages:
        if joined and not stage.title and not joined[-1].title:
            joined[-1] = PathStage("", joined[-1].lessons + stage.lessons)
        else:
            joined.append(stage)
    return tuple(joined)

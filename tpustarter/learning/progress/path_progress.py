"""The learner's progress on a path: its stages, the lessons done in each, and the time left."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpustarter.learning.progress import course
from tpustarter.text import phrases

if TYPE_CHECKING:
    from tpustarter.core.content import Lesson
    from tpustarter.learning.content.paths import LessonPath


@dataclass(frozen=True)
class PathPart:
    """The progress on a path, or on one of its stages."""

    title: str
    lessons: tuple[str, ...]
    done: int
    """The number of its lessons that are done."""
    minutes: int
    left: int
    """Minutes left for the lessons that are neither done nor read."""
    read: int = 0
    """The number of its lessons that are read but not done."""

    @property
    def is_done(self) -> bool:
        """Return whether all lessons of the path or stage are done."""
        return self.done == len(self.lessons)

    @property
    def done_share(self) -> float:
        """Return the completed share of the time, from 0 to 1."""
        return (self.minutes - self.left) / max(self.minutes, 1)

    @property
    def size_text(self) -> str:
        """Return text such as `12 lessons, 2 h 10 min`."""
        lessons = phrases.format_count(len(self.lessons), "lesson")
        return f"{lessons}, {phrases.format_reading_time(self.minutes)}"

    @property
    def words(self) -> str:
        """Return the progress as text: `4 of 12 lessons done, 35 min of 2 h 10 min left`."""
        if not self.is_begun:
            return f"0 of {self.size_text}"
        if self.is_done:
            return f"all {self.size_text} done"
        if self.read or not self.left:
            return self.progress_text
        whole = phrases.format_reading_time(self.minutes)
        return f"{self.counts_text}, {phrases.format_reading_time(self.left)} of {whole} left"

    @property
    def progress_text(self) -> str:
        """Return the progress without the total time: `4 of 12 lessons done, 35 min left`."""
        left = phrases.format_reading_time(self.left)
        return f"{self.counts_text}, {left} left" if self.left else self.counts_text

    @property
    def counts_text(self) -> str:
        """Return text such as `4 of 12 lessons done, 2 read`."""
        read = f", {self.read} read" if self.read else ""
        return f"{self.done} of {len(self.lessons)} lessons done{read}"

    @property
    def is_begun(self) -> bool:
        """Return whether any lesson of the path or stage is done or read."""
        return self.done + self.read > 0


@dataclass(frozen=True)
class PathProgress:
    """The learner's progress on a path."""

    path: LessonPath
    whole: PathPart
    stages: tuple[PathPart, ...]
    next: str | None
    """The id of the first lesson not read, or else of the first not done; None if all are done."""

    @property
    def current(self) -> int | None:
        """Return the index of the next lesson's stage, or None if there is no next lesson."""
        return next((n for n, stage in enumerate(self.stages) if self.next in stage.lessons), None)


def find_path_progress(
    path: LessonPath,
    lessons: Mapping[str, Lesson],
    done: Collection[str],
    read: Collection[str] = (),
) -> PathProgress:
    """Return the learner's progress on a path, skipping lessons that do not exist.

    Args:
        path: The path.
        lessons: All lessons, by id.
        done: Ids of the lessons that are done.
        read: Ids of the lessons that are read but not done.
    """

    def part(title: str, ids: Iterable[str]) -> PathPart:
        known = tuple(lesson_id for lesson_id in ids if lesson_id in lessons)
        open_ids = [lesson_id for lesson_id in known if lesson_id not in done]
        unread = [lesson_id for lesson_id in open_ids if lesson_id not in read]
        total, left = (sum(read_minutes(lessons[one]) for one in some) for some in (known, unread))
        count = len(open_ids) - len(unread)
        return PathPart(title, known, len(known) - len(open_ids), total, left, count)

    whole = part(path.title, path.lessons)
    stages = tuple(stage for one in path.stages if (stage := part(one.title, one.lessons)).lessons)
    return PathProgress(
        path, whole, stages, course.find_first_unfinished_lesson(whole.lessons, done, read)
    )


def read_minutes(lesson: Lesson) -> int:
    """Return a lesson's duration in minutes, or 0 if its header has none."""
    minutes = lesson.header.get("minutes")
    return minutes if isinstance(minutes, int) else 0

"""How far a learner is on a path: its stages, what is done of each, and the time that is left."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpustarter.learning import course

if TYPE_CHECKING:
    from tpustarter.content import Lesson
    from tpustarter.learning.paths import LessonPath


@dataclass(frozen=True)
class Part:
    """A path or one of its stages, and how much of it is done."""

    title: str
    lessons: tuple[str, ...]
    done: int
    """How many of its lessons are done."""
    minutes: int
    left: int
    """Minutes of the lessons that are neither done nor read."""
    read: int = 0
    """How many of its lessons are read and not done."""

    @property
    def is_done(self) -> bool:
        """Whether all of it is done."""
        return self.done == len(self.lessons)

    @property
    def share_behind(self) -> float:
        """How much of its time is done, from 0 to 1."""
        return (self.minutes - self.left) / max(self.minutes, 1)

    @property
    def amount(self) -> str:
        """How much there is: `12 lessons, 2 h 10 min`."""
        count = len(self.lessons)
        return f"{count} lesson{'s' * (count != 1)}, {duration(self.minutes)}"

    @property
    def words(self) -> str:
        """How far one is: `4 of 12 lessons done, 35 min of 2 h 10 min left`."""
        if not self.is_begun:
            return f"0 of {self.amount}"
        if self.is_done:
            return f"all {self.amount} done"
        if self.read or not self.left:
            return self.brief
        return f"{self.counted}, {duration(self.left)} of {duration(self.minutes)} left"

    @property
    def brief(self) -> str:
        """The same, without the time of the whole: `4 of 12 lessons done, 35 min left`."""
        return f"{self.counted}, {duration(self.left)} left" if self.left else self.counted

    @property
    def counted(self) -> str:
        """How many lessons are done and read: `4 of 12 lessons done, 2 read`."""
        read = f", {self.read} read" if self.read else ""
        return f"{self.done} of {len(self.lessons)} lessons done{read}"

    @property
    def is_begun(self) -> bool:
        """Whether any of its lessons is done or read."""
        return self.done + self.read > 0


@dataclass(frozen=True)
class Standing:
    """Where a learner is on a path."""

    path: LessonPath
    whole: Part
    stages: tuple[Part, ...]
    next: str | None
    """The first lesson that is not read, else the first that is not done; None at the end."""

    @property
    def current(self) -> int | None:
        """The stage that the next lesson is in, by its index."""
        return next((n for n, stage in enumerate(self.stages) if self.next in stage.lessons), None)


def standing_on(
    path: LessonPath,
    lessons: Mapping[str, Lesson],
    done: Collection[str],
    read: Collection[str] = (),
) -> Standing:
    """Return where one is on a path; lessons that are not there count for nothing.

    Args:
        path: The path.
        lessons: What there is, by id.
        done: Ids of the lessons that were done.
        read: Ids of those that were read and are not done.
    """

    def part(title: str, ids: Iterable[str]) -> Part:
        known = tuple(lesson_id for lesson_id in ids if lesson_id in lessons)
        open_ids = [lesson_id for lesson_id in known if lesson_id not in done]
        unread = [lesson_id for lesson_id in open_ids if lesson_id not in read]
        total, left = (sum(minutes_of(lessons[one]) for one in some) for some in (known, unread))
        count = len(open_ids) - len(unread)
        return Part(title, known, len(known) - len(open_ids), total, left, count)

    whole = part(path.title, path.lessons)
    stages = tuple(stage for one in path.stages if (stage := part(one.title, one.lessons)).lessons)
    return Standing(path, whole, stages, course.first_left(whole.lessons, done, read))


def minutes_of(lesson: Lesson) -> int:
    """Return about how long a lesson takes; 0 where its header does not say."""
    minutes = lesson.header.get("minutes")
    return minutes if isinstance(minutes, int) else 0


def duration(minutes: int) -> str:
    """Return minutes as people say them: `35 min`, `2 h`, `2 h 10 min`."""
    hours, rest = divmod(minutes, 60)
    parts = [f"{hours} h"] * bool(hours) + [f"{rest} min"] * bool(rest or not hours)
    return " ".join(parts)

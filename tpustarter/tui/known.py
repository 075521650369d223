"""What Home and the choice of a path know of the course, read in a worker."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tpustarter.learning import solved
from tpustarter.learning.standing import Standing, standing_on
from tpustarter.problem import Problem

if TYPE_CHECKING:
    from pathlib import Path

    from tpustarter.content import Lesson
    from tpustarter.learning.paths import LessonPath
    from tpustarter.learning.progress import LessonProgress


@dataclass(frozen=True)
class Course:
    """What there is to learn, and how far one is."""

    lessons: dict[str, Lesson]
    paths: list[LessonPath]
    done: frozenset[str]
    """Lessons that were done."""
    read: frozenset[str] = frozenset()
    """Lessons that were read and are not done: a task or a question is open."""
    begun: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """Of lessons begun and not read: blocks and questions that are done, of how many. Who has typed
    into a block has begun."""
    records: dict[str, LessonProgress] = field(default_factory=dict[str, "LessonProgress"])
    """What was done of each lesson."""
    last: dict[str, Any] | None = None
    """The last check of this machine."""
    trouble: str = ""
    """Why lessons cannot be read, if they cannot."""
    tpus: int = 0
    """TPUs of Google Cloud that this program asked for and that may be billed."""
    unread: int = 0
    """Ledgers of such TPUs that could not be read."""

    def left_of(self, lesson_id: str) -> str:
        """Return how many things are open in a lesson that is read, in words."""
        return solved.things_open(self.records[lesson_id].open)

    def open_in(self, lesson_id: str) -> list[str]:
        """Return the ids of a lesson's exercises that are not solved."""
        return solved.still_open(self.lessons[lesson_id], self.records)

    def open_on(self, standing: Standing) -> list[str]:
        """Return the ids of the exercises of a path that are not solved."""
        return [one for lesson_id in standing.whole.lessons for one in self.open_in(lesson_id)]

    def next_exercise(self, standing: Standing) -> str | None:
        """Return the first exercise that is met and not solved; null for none.

        What a lesson prepares for is at its end: before that, none of its exercises is named.
        """
        return next(iter(self.exercises_met(standing)), None)

    def exercises_met(self, standing: Standing) -> list[str]:
        """Return the exercises that are open of lessons that are behind one, else of the path."""
        met = self.done | self.read
        return [one for lesson in standing.whole.lessons if lesson in met or not standing.next
                for one in self.open_in(lesson)]  # fmt: skip

    def exercise_title(self, exercise_id: str) -> str:
        """Return what an exercise is called, from its file; of one that is broken its id."""
        from tpustarter.learning import exercises

        track, _, name = exercise_id.partition("/")
        lessons = [one for one in self.lessons.values() if one.id.partition("/")[0] == track]
        with contextlib.suppress(Problem):
            return exercises.find(lessons, exercise_id).title
        return name.replace("-", " ")

    def half_done(self, standing: Standing) -> list[str]:
        """Return the lessons that were begun or read with something open; those of the path first.

        The one that is next is not among them.
        """
        on_path = [one for one in standing.whole.lessons if one in self.begun or one in self.read]
        others = [one for one in (*self.begun, *self.lessons) if one in self.begun]
        open_ones = dict.fromkeys((*on_path, *others))
        return [one for one in open_ones if one != standing.next]

    def next_on(self, standing: Standing) -> str | None:
        """Return the next lesson of a path, then the first that has an exercise open."""
        with_open = (one for one in standing.whole.lessons if self.open_in(one))
        return standing.next or next(with_open, None)

    def achieved(self, standing: Standing) -> str:
        """Return what was achieved on a path, and today."""
        return solved.words([self.lessons[one] for one in standing.whole.lessons], self.records)

    def standing(self, path: LessonPath) -> Standing:
        """Return where one is on a path."""
        return standing_on(path, self.lessons, self.done, self.read)


def read(folder: Path | None) -> Course:
    """Read the lessons of a folder, progress, the last check and the ledger of TPUs."""
    from tpustarter import content
    from tpustarter.cloud import ledger
    from tpustarter.learning import drafts, progress
    from tpustarter.learning.paths import read_paths  # not needed for the first paint, like these

    known = Course({}, [], frozenset(), last=progress.last_check())
    known = replace(known, tpus=len(ledger.entries()), unread=len(ledger.put_aside()))
    try:
        lessons = {lesson.id: lesson for lesson in content.read_lessons(folder)}
        paths = read_paths(folder)
        records = progress.read().lessons
    except Problem as problem:
        return replace(known, trouble=str(problem))
    worked_on = {one: record for one, record in records.items() if record.blocks or record.quizzes}
    typed = {one: records.get(one, progress.LessonProgress()) for one in sorted(drafts.kept())}
    begun: dict[str, tuple[int, int]] = {}
    for lesson_id, record in {**typed, **worked_on}.items():  # not where only an exercise was
        if not (record.done or record.is_read) and lesson_id in lessons:
            with contextlib.suppress(Problem):  # the lesson's own page says what is wrong with it
                begun[lesson_id] = progress.things_done(lessons[lesson_id], record)
    done = frozenset(lesson_id for lesson_id, record in records.items() if record.done)
    read_only = frozenset(lesson_id for lesson_id, record in records.items() if record.is_read)
    known = replace(known, lessons=lessons, paths=paths, done=done, read=read_only)
    return replace(known, begun=begun, records=records)

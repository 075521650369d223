"""Read facts about the course for the app's lists, in a worker."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tpustarter.core.problem import Problem
from tpustarter.learning.progress import solved_exercises
from tpustarter.learning.progress.path_progress import PathProgress, find_path_progress

if TYPE_CHECKING:
    from pathlib import Path

    from tpustarter.core.content import Lesson
    from tpustarter.learning.content.paths import LessonPath
    from tpustarter.learning.progress.lesson_progress import LessonProgress


@dataclass(frozen=True)
class Course:
    """The lessons and paths, and the user's progress."""

    lessons: dict[str, Lesson]
    paths: list[LessonPath]
    done: frozenset[str]
    lessons_read: frozenset[str] = frozenset()
    """Lessons that have been read but are not done, because a task or a question is open."""
    lessons_begun: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """Lessons begun but not read, with the number of blocks and questions done, and of all.

    A lesson is begun once the user has typed into one of its blocks.
    """
    records: dict[str, LessonProgress] = field(default_factory=dict[str, "LessonProgress"])
    """The saved progress, keyed by lesson id."""
    last: dict[str, object] | None = None
    """The saved result of the last check of this machine."""
    trouble: str = ""
    """The reason why the lessons cannot be read, or ""."""
    tpus: int = 0
    """Number of Google Cloud TPUs that this program has requested and that may be billed."""
    unread: int = 0
    """Number of ledgers of such TPUs that could not be read."""

    def describe_open_tasks(self, lesson_id: str) -> str:
        """Return a phrase for the tasks and questions still open in a lesson that has been read."""
        return solved_exercises.format_open_count(self.records[lesson_id].open_count)

    def list_unsolved_in_lesson(self, lesson_id: str) -> list[str]:
        """Return the ids of a lesson's unsolved exercises."""
        return solved_exercises.list_unsolved_exercises(self.lessons[lesson_id], self.records)

    def list_unsolved_on_path(self, progress: PathProgress) -> list[str]:
        """Return the ids of a path's unsolved exercises."""
        return [
            one
            for lesson_id in progress.whole.lessons
            for one in self.list_unsolved_in_lesson(lesson_id)
        ]

    def find_next_exercise(self, progress: PathProgress) -> str | None:
        """Return the id of the first unlocked exercise on a path, or None."""
        return next(iter(self.list_unlocked_exercises(progress)), None)

    def list_unlocked_exercises(self, progress: PathProgress) -> list[str]:
        """Return the ids of unsolved exercises on a path whose lessons have been read.

        A lesson prepares for its exercises, so they are locked until it has been read. Once the
        path has no next lesson, all exercises are unlocked.
        """
        met = self.done | self.lessons_read
        return [
            one
            for lesson in progress.whole.lessons
            if lesson in met or not progress.next
            for one in self.list_unsolved_in_lesson(lesson)
        ]

    def find_exercise_title(self, exercise_id: str) -> str:
        """Return an exercise's title, or if its file is broken, the words of its id."""
        from tpustarter.learning.content import exercises

        track, _, name = exercise_id.partition("/")
        lessons = [one for one in self.lessons.values() if one.id.partition("/")[0] == track]
        with contextlib.suppress(Problem):
            return exercises.find_exercise(lessons, exercise_id).title
        return name.replace("-", " ")

    def list_half_done(self, progress: PathProgress) -> list[str]:
        """Return the lessons that were started or read but are not done, those on the path first.

        The next lesson is left out.
        """
        on_path = [
            one
            for one in progress.whole.lessons
            if one in self.lessons_begun or one in self.lessons_read
        ]
        others = [one for one in (*self.lessons_begun, *self.lessons) if one in self.lessons_begun]
        open_ones = dict.fromkeys((*on_path, *others))
        return [one for one in open_ones if one != progress.next]

    def find_next_lesson(self, progress: PathProgress) -> str | None:
        """Return the path's next lesson, or its first one with an unsolved exercise, or None."""
        with_open = (one for one in progress.whole.lessons if self.list_unsolved_in_lesson(one))
        return progress.next or next(with_open, None)

    def describe_achievements(self, progress: PathProgress) -> str:
        """Describe the achievements on a path and of today."""
        return solved_exercises.describe_achievements(
            [self.lessons[one] for one in progress.whole.lessons], self.records
        )

    def find_path_progress(self, path: LessonPath) -> PathProgress:
        """Return the progress on a path."""
        return find_path_progress(path, self.lessons, self.done, self.lessons_read)


def read_course(folder: Path | None) -> Course:
    """Read a folder's lessons, the progress, the last check and the TPU ledger."""
    # The first paint does not need these.
    from tpustarter.cloud.billing import ledger
    from tpustarter.core import content
    from tpustarter.learning.content.paths import read_paths
    from tpustarter.learning.progress import drafts, lesson_progress

    known = Course({}, [], frozenset())
    known = replace(
        known, tpus=len(ledger.read_ledger()), unread=len(ledger.list_unreadable_files())
    )
    try:
        known = replace(known, last=lesson_progress.read_last_check_run())
        lessons = {lesson.id: lesson for lesson in content.read_lessons(folder)}
        paths = read_paths(folder)
        records = lesson_progress.read_progress().lessons
    except Problem as problem:
        return replace(known, trouble=str(problem))
    worked_on = {one: record for one, record in records.items() if record.blocks or record.quizzes}
    typed = {
        one: records.get(one, lesson_progress.LessonProgress())
        for one in sorted(drafts.list_drafts())
    }
    begun: dict[str, tuple[int, int]] = {}
    for lesson_id, record in {**typed, **worked_on}.items():  # exercises alone do not count
        if not (record.done or record.is_read) and lesson_id in lessons:
            with contextlib.suppress(Problem):  # the lesson's own page shows the problem
                begun[lesson_id] = lesson_progress.count_done(lessons[lesson_id], record)
    done = frozenset(lesson_id for lesson_id, record in records.items() if record.done)
    read_only = frozenset(lesson_id for lesson_id, record in records.items() if record.is_read)
    known = replace(known, lessons=lessons, paths=paths, done=done, lessons_read=read_only)
    return replace(known, lessons_begun=begun, records=records)

"""The learner's achievements: solved and open exercises, and what was done today."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING

from tpustarter.text import phrases

if TYPE_CHECKING:
    from tpustarter.core.content import Lesson
    from tpustarter.learning.progress.lesson_progress import LessonProgress

    Records = Mapping[str, LessonProgress]
    """The progress in each lesson, keyed by its id."""


def list_unsolved_exercises(lesson: Lesson, records: Records) -> list[str]:
    """Return the ids of a lesson's unsolved exercises."""
    record = records.get(lesson.id)
    known, track = record.exercises if record else {}, lesson.id.partition("/")[0]
    return [
        f"{track}/{name}"
        for name in lesson.exercise_names
        if name not in known or known[name].status != "pass"
    ]


def list_unsolved_exercises_of_lessons(lessons: Iterable[Lesson], records: Records) -> list[str]:
    """Return the ids of the unsolved exercises of some lessons, lesson by lesson."""
    return [one for lesson in lessons for one in list_unsolved_exercises(lesson, records)]


def format_unsolved_count(count: int) -> str:
    """Return text such as `2 exercises open`; "" for 0."""
    return f"{phrases.format_count(count, 'exercise')} open" if count else ""


def format_open_count(count: int | None) -> str:
    """Return text such as `3 things open`; "" for 0 and None."""
    return f"{phrases.format_count(count, 'thing')} open" if count else ""


def describe_achievements(
    lessons: Collection[Lesson], records: Records, today: date | None = None
) -> str:
    """Return the achievements on a path, or "" if no lesson or exercise was started.

    Example: `2 of 31 exercises solved. Today: 3 lessons and 2 exercises.`

    Args:
        lessons: The lessons of the path.
        records: The progress in every lesson; those done today need not be on the path.
        today: The local date; None for the current one.
    """
    count = sum(len(lesson.exercise_names) for lesson in lessons)
    solved = count - sum(len(list_unsolved_exercises(lesson, records)) for lesson in lessons)
    day = today or datetime.now().astimezone().date()
    done_today = sum(_day(known.done) == day for known in records.values())
    solved_today = sum(
        entry.status == "pass" and _day(entry.when) == day
        for known in records.values()
        for entry in known.exercises.values()
    )
    today_s = ((done_today, "lesson"), (solved_today, "exercise"))
    achieved = [phrases.format_count(number, noun) for number, noun in today_s if number]
    if not achieved and not any(lesson.id in records for lesson in lessons):
        return ""
    has_met_one = any(lesson.exercise_names for lesson in lessons if lesson.id in records)
    of_path = (
        f"{solved} of {phrases.format_count(count, 'exercise')} solved."
        if solved or has_met_one
        else ""
    )
    of_today = f"Today: {phrases.join_words(achieved)}." if achieved else ""
    return " ".join(filter(None, (of_path, of_today)))


def _day(when: str | None) -> date | None:
    try:
        return datetime.fromisoformat(when or "").astimezone().date()
    except ValueError:
        return None

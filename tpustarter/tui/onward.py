"""Where a right answer of an exercise leads, and what it adds to."""

from __future__ import annotations

from dataclasses import dataclass

from tpustarter import content
from tpustarter.learning import lesson_end, progress, solved
from tpustarter.learning.exercises import Exercise
from tpustarter.learning.lesson_end import Way
from tpustarter.learning.paths import lessons_on, read_paths
from tpustarter.tui.screens.exercises import Exercises
from tpustarter.tui.screens.lesson_screen import LessonScreen
from tpustarter.tui.screens.page import Page
from tpustarter.tui.tutor import Tutor


@dataclass(frozen=True)
class Onward:
    """What is said below a right answer."""

    way: Way
    """What one goes on with."""
    back: str
    """Where Esc leads."""
    achieved: str
    """How many exercises are solved."""


def onward(tutor: Tutor, exercise: Exercise, below: Page) -> Onward:
    """Return where a right answer leads; reads files.

    Args:
        tutor: Knows the path, and where the lessons are.
        exercise: The one that is solved.
        below: The screen that it was opened from.
    """
    path = tutor.path_of(read_paths(tutor.lessons))
    lessons = content.read_lessons(tutor.lessons)
    records = progress.read().lessons
    back = below.CALLED or "where you were"
    if isinstance(below, LessonScreen):  # which may be another one than this exercise is of
        lesson = next(one for one in lessons if one.id == below.lesson)
        mark = progress.mark(lesson, records.get(lesson.id))
        back = f"the lesson {lesson.title}{f', {mark}' if mark else ''}"
    way = lesson_end.after_exercise(exercise, path, lessons, progress.done(), progress.read_only())
    if isinstance(below, Exercises) and (other := below.after(exercise.id)):
        way = Way(f"The next exercise of the list: {other.title}", exercise=other.id)
    return Onward(way, back, solved.words(lessons_on(path, lessons), records))

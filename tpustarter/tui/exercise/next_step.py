"""The next step after a right answer of an exercise, and the count of solved exercises."""

from __future__ import annotations

from dataclasses import dataclass

from tpustarter.core import content
from tpustarter.learning.content.exercises import Exercise
from tpustarter.learning.content.paths import lessons_on, read_paths
from tpustarter.learning.progress import lesson_end, lesson_progress, solved_exercises
from tpustarter.learning.progress.lesson_end import NextStep
from tpustarter.tui.app.session import AppSession
from tpustarter.tui.exercise.list_screen import Exercises
from tpustarter.tui.kit.page import Page
from tpustarter.tui.lesson.resumed_screen import LessonScreen


@dataclass(frozen=True)
class AnswerNextStep:
    """The lines below a right answer."""

    way: NextStep
    """The next step."""
    back: str
    """The screen to which Esc leads, in words."""
    achieved: str
    """The count of solved exercises, in words."""


def find_next_step(tutor: AppSession, exercise: Exercise, below: Page) -> AnswerNextStep:
    """Return the next step after a right answer; reads files.

    Args:
        tutor: The app, with the path and the folder of the lessons.
        exercise: The solved exercise.
        below: The screen from which the exercise was opened.
    """
    path = tutor.find_path(read_paths(tutor.lessons))
    lessons = content.read_lessons(tutor.lessons)
    records = lesson_progress.read().lessons
    back = below.CALLED or "where you were"
    if isinstance(below, LessonScreen):  # maybe not the lesson of this exercise
        lesson = next(one for one in lessons if one.id == below.lesson)
        mark = lesson_progress.mark(lesson, records.get(lesson.id))
        back = f"the lesson {lesson.title}{f', {mark}' if mark else ''}"
    way = lesson_end.after_exercise(
        exercise, path, lessons, lesson_progress.read_done_lessons(), lesson_progress.read_only()
    )
    if isinstance(below, Exercises) and (other := below.find_next_open(exercise.id)):
        way = NextStep(f"The next exercise of the list: {other.title}", exercise=other.id)
    return AnswerNextStep(way, back, solved_exercises.words(lessons_on(path, lessons), records))

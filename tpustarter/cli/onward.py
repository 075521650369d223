"""What the command line says at the end of a lesson or an exercise: what was done, what is next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tpustarter import content
from tpustarter.content import Lesson, LessonPath
from tpustarter.invocation import as_typed
from tpustarter.problem import Problem
from tpustarter.terminal import visible, wrap

if TYPE_CHECKING:
    from tpustarter.learning.exercises import Exercise


def path_here(paths: list[LessonPath]) -> LessonPath | None:
    """Return the path that the learner follows: the one chosen, or for this kind of machine."""
    from tpustarter.learning import course
    from tpustarter.machine import host

    return course.path_to_follow(paths, on_tpu=host.platform_hint(host.Machine()) == "tpu")


def after_run(lesson: Lesson, *, all_passed: bool) -> None:
    """Say what was done of a lesson and what is still open; where all passed, how to go on."""
    from tpustarter.learning import blocks, exercises, lesson_end, progress

    known = progress.read().lessons.get(lesson.id, progress.LessonProgress())
    end = lesson_end.look(blocks.parse(lesson), known, exercises.read(lesson), by_id=True)
    _say(end.headline)
    for sentence in end.still_open:
        for line in wrap(visible(f"{sentence}."), "  "):
            click.echo(line)
    if all_passed:
        _say_onward(lesson.id)


def after_right(exercise: Exercise) -> None:
    """Say what a right answer has shown, and with which command to go on."""
    from tpustarter.learning import exercises

    if exercise.learned:
        _say(f"What you learned: {exercise.learned}")
    other = exercises.following(exercise)
    if other:
        _say(f"Next exercise of this lesson: {other.title}")
        click.echo(as_typed(f"  tpustarter learn --exercise {visible(other.id)}"))
    else:
        _say_onward(exercise.lesson.id)


def _say_onward(lesson_id: str) -> None:
    """Say where the course goes on, and with which command."""
    from tpustarter.learning import course, lesson_end, progress

    lessons = {lesson.id: lesson for lesson in content.read_lessons()}
    try:
        path = path_here(content.read_paths())
    except Problem:  # what was done is done; `tpustarter learn` tells what is wrong with them
        path = None
    onward = course.onward(lesson_id, path, progress.done())
    lesson = lessons.get(onward.lesson or "")
    _say(lesson_end.goes_on(onward, lesson))
    if lesson:
        click.echo(as_typed(f"  tpustarter learn {visible(lesson.id)}"))


def _say(text: str) -> None:
    """Say something, apart from what stands above it."""
    for line in ["", *wrap(visible(text))]:
        click.echo(line)

"""What the command line says at the end of a lesson or an exercise: what was done, what is next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tpustarter import content
from tpustarter.cli.saying import say
from tpustarter.content import Lesson
from tpustarter.learning.paths import LessonPath, lessons_on, read_paths
from tpustarter.problem import Problem
from tpustarter.terminal import visible, wrap

if TYPE_CHECKING:
    from tpustarter.learning.exercises import Exercise
    from tpustarter.learning.lesson_end import Way


def path_here(paths: list[LessonPath]) -> LessonPath | None:
    """Return the path that the learner follows: the one chosen, or for this kind of machine."""
    from tpustarter.learning import course
    from tpustarter.machine import host

    return course.path_to_follow(paths, on_tpu=host.platform_hint(host.Machine()) == "tpu")


def after_run(lesson: Lesson, *, all_passed: bool) -> None:
    """Say what was done of a lesson and what is still open; where all passed, how to go on."""
    from tpustarter.learning import blocks, exercises, lesson_end, progress

    known = progress.read().lessons.get(lesson.id, progress.LessonProgress())
    of_lesson = exercises.read(lesson)
    end = lesson_end.look(blocks.parse(lesson), known, of_lesson, by_id=True)
    _say(end.headline)
    for sentence in end.still_open:
        say(wrap(visible(f"{sentence}."), "  "))
    if all_passed:
        if not end.is_done:  # a question or a task is open
            say(wrap("In the tutor you answer questions and change blocks: `tpustarter`", "  "))
        _say_achieved()
        for exercise in of_lesson:
            if exercises.state(exercise) != "pass":
                _say_way(lesson_end.Way(f"Exercise: {exercise.title}", exercise=exercise.id))
        lessons, done, read = content.read_lessons(), progress.done(), progress.read_only()
        _say_way(lesson_end.after_lesson(lesson.id, _path(), lessons, done, read))


def after_right(exercise: Exercise) -> Way:
    """Say what a right answer has shown, and with which command to go on; returns where that is."""
    from tpustarter.learning import lesson_end, progress

    if exercise.learned:
        _say(f"What you learned: {exercise.learned}")
    _say_achieved()
    lessons, done, read = content.read_lessons(), progress.done(), progress.read_only()
    way = lesson_end.after_exercise(exercise, _path(), lessons, done, read)
    _say_way(way)
    return way


def next_exercise() -> str | None:
    """Return the id of the first exercise of the path that is not solved; None where all are."""
    from tpustarter.learning import lesson_end

    way = lesson_end.next_exercise(_path(), content.read_lessons())
    return way.exercise if way else None


def _path() -> LessonPath | None:
    """Return the path to follow; None where paths cannot be read, which `learn` tells of."""
    try:
        return path_here(read_paths())
    except Problem:
        return None


def _say_achieved() -> None:
    """Say how many exercises of the path are solved, and what was done today."""
    from tpustarter.learning import progress, solved

    on_path = lessons_on(_path(), content.read_lessons())
    if achieved := solved.words(on_path, progress.read().lessons):
        _say(achieved)


def _say_way(way: Way) -> None:
    """Say what one goes on with, and the command."""
    _say(way.text)
    if way.exercise:
        say(f"  tpustarter learn --exercise {visible(way.exercise)}")
    elif way.lesson:
        say(f"  tpustarter learn {visible(way.lesson)}")


def _say(text: str) -> None:
    """Say something, apart from what stands above it."""
    click.echo("")
    say(wrap(visible(text)))

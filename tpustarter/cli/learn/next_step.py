"""The closing lines after a lesson or an exercise: the progress, and the next command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tpustarter.cli.echo import echo_lines
from tpustarter.core import content
from tpustarter.core.content import Lesson
from tpustarter.core.problem import Problem
from tpustarter.learning.content.paths import LessonPath, read_paths
from tpustarter.text.invocation import format_commands
from tpustarter.text.terminal import escape_text, wrap

if TYPE_CHECKING:
    from tpustarter.learning.content.exercises import Exercise
    from tpustarter.learning.progress.lesson_summary import NextLearningStep
    from tpustarter.setup.environment.needed_setups import LessonPythons


def find_learning_path(paths: list[LessonPath]) -> LessonPath | None:
    """Return the path that the learner chose, or else the default for this kind of machine."""
    from tpustarter.learning.progress import course
    from tpustarter.machine import host

    machine = host.Machine()
    on_tpu = host.guess_platform(machine) == "tpu"
    return course.find_path_to_follow(paths, on_tpu=on_tpu, env=machine.env)


def find_lesson_pythons() -> LessonPythons:
    """Return the Pythons of this machine that could run lessons."""
    from tpustarter.machine import host
    from tpustarter.setup.environment import needed_setups

    return needed_setups.find_lesson_pythons(host.Machine())


def print_end_of_run(lesson: Lesson, *, all_passed: bool) -> None:
    """Print a lesson's progress after a run, and the next command if all blocks passed."""
    from tpustarter.learning.content import blocks, exercises
    from tpustarter.learning.progress import lesson_summary
    from tpustarter.setup.environment import needed_setups

    parts, own, lessons = (
        blocks.parse_lesson(lesson),
        exercises.read_exercises(lesson),
        content.read_lessons(),
    )
    end = lesson_summary.read_lesson_summary(lesson, parts, own, _path(), lessons, by_id=True)
    _say(end.headline)
    for sentence in end.still_open:
        echo_lines(wrap(escape_text(f"{sentence}."), "  "))
    # With --python it may have run in one that the search for set-ups does not know.
    if not all_passed:
        needed = needed_setups.find_setup_for_lesson(lesson, find_lesson_pythons())
        if needed:
            _say(format_commands(needed.describe_for_lesson()))
    if all_passed:
        if not end.is_done:  # a question or a task is open
            echo_lines(
                wrap("In the tutor you answer questions and change blocks: `tpustarter`", "  ")
            )
        if end.achieved:
            _say(end.achieved)
        for exercise in end.unsolved:
            _say_way(
                lesson_summary.NextLearningStep(f"Exercise: {exercise.title}", exercise=exercise.id)
            )
        _say_way(end.next_step)


def print_end_of_exercise(exercise: Exercise) -> NextLearningStep:
    """Print the point of a solved exercise, and return the next step."""
    from tpustarter.learning.progress import lesson_summary

    end = lesson_summary.read_exercise_summary(exercise, _path(), content.read_lessons())
    if exercise.learned:
        _say(f"What you learned: {exercise.learned}")
    if end.achieved:
        _say(end.achieved)
    _say_way(end.next_step)
    return end.next_step


def find_next_exercise() -> str | None:
    """Return the id of the path's first unsolved exercise, or None if all are solved."""
    from tpustarter.learning.progress import lesson_summary

    way = lesson_summary.find_next_exercise(_path(), content.read_lessons())
    return way.exercise if way else None


def _path() -> LessonPath | None:
    """Return the path to follow, or None if the paths cannot be read, which `learn` reports."""
    try:
        return find_learning_path(read_paths())
    except Problem:
        return None


def _say_way(way: NextLearningStep) -> None:
    _say(way.text)
    if way.exercise:
        echo_lines(f"  tpustarter learn --exercise {escape_text(way.exercise)}")
    elif way.lesson:
        echo_lines(f"  tpustarter learn {escape_text(way.lesson)}")


def _say(text: str) -> None:
    click.echo("")
    echo_lines(wrap(escape_text(text)))

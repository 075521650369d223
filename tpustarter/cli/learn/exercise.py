"""`tpustarter learn --exercise`: an exercise in the user's editor, judged on request or on save."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import click

from tpustarter.cli.command_end import exit_at_signals, format_path
from tpustarter.cli.echo import echo_lines
from tpustarter.cli.learn import next_step as learn_next_step
from tpustarter.cli.learn.exercise_text import (
    format_retry_command,
    judge_learner_file,
    print_help_command,
    show_hint,
    show_task,
)
from tpustarter.core.content import Lesson
from tpustarter.core.problem import ExitCode
from tpustarter.learning.content import exercises
from tpustarter.learning.content.exercises import AnswerVerdict, Exercise
from tpustarter.learning.run.lesson_process import LessonSession, LessonSessionOptions
from tpustarter.text.terminal import escape_text, wrap

if TYPE_CHECKING:
    from typing_extensions import Unpack


def print_exercises(lessons: list[Lesson]) -> None:
    """List the lessons' exercises, each with the learner's progress."""
    known = [exercise for lesson in lessons for exercise in exercises.read_exercises(lesson)]
    if not known:
        echo_lines(f"The lesson `{escape_text(lessons[0].title)}` has no exercise.")
        return
    if len(lessons) == 1 < len(known):
        echo_lines(f"The lesson `{escape_text(lessons[0].title)}` has {len(known)} exercises.\n")
    width = max(len(exercise.id) for exercise in known)
    for exercise in known:
        state = f"{exercises.WORDS[exercises.read_exercise_state(exercise)]:<{exercises.WIDTH}}"
        prefix = f"{state}{exercise.id:<{width}}  "
        for line in wrap(escape_text(exercise.title), prefix, " " * len(prefix)):
            click.echo(line)
    if following := learn_next_step.find_next_exercise():
        echo_lines("\nThe next open one of your path:")
        echo_lines(f"  tpustarter learn --exercise {escape_text(following)}")


def print_all_solved() -> None:
    """Print that the path's exercises are all solved, and the command that lists all exercises."""
    echo_lines("You have solved every exercise of your path. This lists all exercises:")
    echo_lines(f"  {exercises.LISTED_BY}")


def work_on_exercise(
    exercise: Exercise,
    *,
    watch: bool,
    hint: bool,
    solution: bool,
    reset: bool,
    **options: Unpack[LessonSessionOptions],
) -> None:
    """Show the next hint or the solution, restart the exercise, or judge the learner's file."""
    if hint:
        show_hint(exercise)
    elif solution:
        click.echo(exercises.reveal_solution(exercise), nl=False)
    elif reset:
        kept = exercises.restart_exercise(exercise)
        path = format_path(exercises.learner_file_path(exercise))
        click.echo(f"started again: {path}\n{exercises.describe_kept_copy(kept)}")
    else:
        _judge(exercise, watch=watch, **options)


def _judge(exercise: Exercise, *, watch: bool, **options: Unpack[LessonSessionOptions]) -> None:
    is_new = not exercises.learner_file_path(exercise).exists()
    path = exercises.ensure_learner_file(exercise)
    show_task(exercise, path)
    if is_new and not watch:
        echo_lines("Open it in your editor and fill the gap. Then this judges it:")
        echo_lines(f"  tpustarter learn --exercise {escape_text(exercise.id)}")
        echo_lines("With --watch it is judged whenever you save. --hint gives a hint.")
        return
    if watch:
        from tpustarter.cli.learn import exercise_watch

        judged = exercise_watch.watch_exercise(exercise, **options)
    else:
        if sys.stderr.isatty():
            starts = " A framework takes some seconds to start." * bool(exercise.lesson.framework)
            click.echo(f"Running your file.{starts}", err=True)
        with (
            exit_at_signals(lambda: format_retry_command(exercise)),
            contextlib.closing(LessonSession(exercise.lesson, **options)) as session,
        ):
            judged = judge_learner_file(exercise, session)
        if judged.is_right:
            learn_next_step.print_end_of_exercise(exercise)
        elif judged.result.status in ("fail", "error"):
            print_help_command(exercise)
    sys.exit(_exit_code(judged))


def _exit_code(judged: AnswerVerdict) -> ExitCode:
    if judged.is_right:
        return ExitCode.OK
    return ExitCode.FAILED if judged.result.status == "fail" else ExitCode.INCONCLUSIVE

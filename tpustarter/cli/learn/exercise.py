"""`tpustarter learn --exercise`: an exercise in the user's editor, judged when asked or saved."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import click

from tpustarter.cli.command_end import left_by_signals, typed
from tpustarter.cli.echo import say
from tpustarter.cli.learn import next_step as learn_next_step
from tpustarter.cli.learn.exercise_text import again, judge_once, show_hint, show_task, tell_help
from tpustarter.core.content import Lesson
from tpustarter.core.problem import ExitCode
from tpustarter.learning.content import exercises
from tpustarter.learning.content.exercises import AnswerVerdict, Exercise
from tpustarter.learning.run.lesson_process import LessonSession
from tpustarter.text.terminal import visible, wrap


def show_all(lessons: list[Lesson]) -> None:
    """List the exercises of lessons, each with the learner's progress."""
    known = [exercise for lesson in lessons for exercise in exercises.read(lesson)]
    if not known:
        say(f"The lesson `{visible(lessons[0].title)}` has no exercise.")
        return
    if len(lessons) == 1 < len(known):
        say(f"The lesson `{visible(lessons[0].title)}` has {len(known)} exercises.\n")
    width = max(len(exercise.id) for exercise in known)
    for exercise in known:
        state = f"{exercises.WORDS[exercises.state(exercise)]:<{exercises.WIDTH}}"
        prefix = f"{state}{exercise.id:<{width}}  "
        for line in wrap(visible(exercise.title), prefix, " " * len(prefix)):
            click.echo(line)
    if following := learn_next_step.next_exercise():
        say("\nThe next open one of your path:")
        say(f"  tpustarter learn --exercise {visible(following)}")


def say_all_solved() -> None:
    """Print that every exercise of the path is solved, and the command that lists all of them."""
    say("You have solved every exercise of your path. This lists all exercises:")
    say(f"  {exercises.LISTED_BY}")


def work(
    exercise: Exercise, *, watch: bool, hint: bool, solution: bool, reset: bool, **options: Any
) -> None:
    """Show the next hint or the solution, start the exercise again, or judge the learner's file."""
    if hint:
        show_hint(exercise)
    elif solution:
        click.echo(exercises.show_solution(exercise), nl=False)
    elif reset:
        kept = exercises.start_again(exercise)
        path = typed(exercises.learner_file(exercise))
        click.echo(f"started again: {path}\n{exercises.words_of_kept(kept)}")
    else:
        _judge(exercise, watch=watch, **options)


def _judge(exercise: Exercise, *, watch: bool, **options: Any) -> None:
    is_new = not exercises.learner_file(exercise).exists()
    path = exercises.open_file(exercise)
    show_task(exercise, path)
    if is_new and not watch:
        say("Open it in your editor and fill the gap. Then this judges it:")
        say(f"  tpustarter learn --exercise {visible(exercise.id)}")
        say("With --watch it is judged whenever you save. --hint gives a hint.")
        return
    if watch:
        from tpustarter.cli.learn import exercise_watch

        judged = exercise_watch.follow(exercise, **options)
    else:
        if sys.stderr.isatty():
            starts = " A framework takes some seconds to start." * bool(exercise.lesson.framework)
            click.echo(f"Running your file.{starts}", err=True)
        with (
            left_by_signals(lambda: again(exercise)),
            contextlib.closing(LessonSession(exercise.lesson, **options)) as session,
        ):
            judged = judge_once(exercise, session)
        if judged.is_right:
            learn_next_step.after_right(exercise)
        elif judged.result.status in ("fail", "error"):
            tell_help(exercise)
    sys.exit(_exit_code(judged))


def _exit_code(judged: AnswerVerdict) -> ExitCode:
    if judged.is_right:
        return ExitCode.OK
    return ExitCode.FAILED if judged.result.status == "fail" else ExitCode.INCONCLUSIVE

"""An exercise's texts on the command line: its task, its hints and the verdict."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from tpustarter.cli.command_end import format_path
from tpustarter.learning.content import exercises
from tpustarter.learning.content.exercises import AnswerVerdict, Exercise
from tpustarter.learning.run.lesson_process import LessonSession
from tpustarter.learning.run.tracebacks import fold_installed_calls, shorten_code
from tpustarter.text.terminal import escape_text, format_code, terminal_width, wrap


def show_hint(exercise: Exercise) -> None:
    """Print the next hint, or repeat the last one if there are no more."""
    hint = exercises.reveal_next_hint(exercise)
    number, count = exercises.count_given_hints(exercise), len(exercise.hints)
    if hint is None:
        click.echo("That was the last hint. `--solution` shows the whole answer.", err=True)
        hint = exercise.hints[-1]
    click.echo(format_code("\n".join(wrap(escape_text(f"hint {number} of {count}: {hint}")))))


def show_task(exercise: Exercise, path: Path) -> None:
    """Print an exercise's task, and the path of the learner's file."""
    place = exercises.format_position(exercise)
    counted = f"Exercise {place} of the lesson {exercise.lesson.title}\n\n" if place else ""
    text = f"{counted}{exercise.title}\n\n{exercise.task}\n\nYour file: {format_path(path)}\n"
    click.echo(format_code(_visible_lines(text)))


def judge_learner_file(exercise: Exercise, session: LessonSession) -> AnswerVerdict:
    """Judge the learner's file, and print its output and the verdict."""
    judged = None
    for item in exercises.judge_answer(exercise, session.run):
        if isinstance(item, AnswerVerdict):
            judged = item
        else:
            text, width = _visible_lines(item.text), terminal_width(sys.stdout)
            click.echo(shorten_code(fold_installed_calls(text), width) if width else text, nl=False)
    assert judged is not None  # noqa: S101  the last item is the verdict
    words = {"pass": "RIGHT", "fail": "NOT YET", "error": "BROKEN"}
    word = words.get(judged.result.status, "NOT RUN")
    for line in wrap(escape_text(f"{word}  {judged.why}".rstrip()), hang=" " * (len(word) + 2)):
        click.echo(line)
    for line in wrap(escape_text(judged.lines.words), hang="  ") if judged.lines else ():
        click.echo(line)
    return judged


def print_help_command(exercise: Exercise) -> None:
    """Print the command that judges the exercise again, with the option for more help."""
    left = len(exercise.hints) - exercises.count_given_hints(exercise)
    option, what = ("--hint", "the next hint") if left else ("--solution", "the solution")
    command = f"{format_retry_command(exercise)} {option}"
    text = f"\nThe same command judges it again, and this shows {what}:\n  {command}"
    click.echo(text, err=True)


def format_retry_command(exercise: Exercise) -> str:
    """Return the command that judges an exercise again."""
    return f"tpustarter learn --exercise {escape_text(exercise.id)}"


def _visible_lines(text: str) -> str:
    return "\n".join(escape_text(line) for line in text.split("\n"))

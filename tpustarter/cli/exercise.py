"""`tpustarter learn --exercise`: an exercise in your own editor, judged when asked or saved."""

from __future__ import annotations

import contextlib
import select
import sys
import textwrap
from pathlib import Path
from typing import Any

import click

from tpustarter.content import Lesson
from tpustarter.learning import exercises
from tpustarter.learning.exercises import Exercise, Judged
from tpustarter.learning.lesson_process import LessonSession
from tpustarter.problem import ExitCode
from tpustarter.terminal import WIDTH, visible

WORDS = {"new": "", "begun": "begun", "fail": "begun", "pass": "done", "shown": "shown"}


def show_all(lessons: list[Lesson]) -> None:
    """List every exercise with how far the learner is."""
    for lesson in lessons:
        for exercise in exercises.read(lesson):
            prefix = f"{WORDS[exercises.state(exercise)]:<6}{exercise.id:<29} "
            click.echo(textwrap.fill(visible(exercise.title), WIDTH, initial_indent=prefix,
                                     subsequent_indent=" " * len(prefix)))  # fmt: skip
    click.echo("\nTry one: tpustarter learn --exercise ID")


def work(
    exercise: Exercise, *, watch: bool, hint: bool, solution: bool, reset: bool, **options: Any
) -> None:
    """Show the next hint or the solution, begin anew, or judge the learner's file."""
    if hint:
        _show_hint(exercise)
    elif solution:
        click.echo(exercises.show_solution(exercise), nl=False)
    elif reset:
        path = exercises.open_file(exercise, anew=True)
        click.echo(f"started again: {path}; what was there is kept as {path.name}.old")
    else:
        _judge(exercise, watch=watch, **options)


def _show_hint(exercise: Exercise) -> None:
    hint = exercises.next_hint(exercise)
    number, count = exercises.hints_given(exercise), len(exercise.hints)
    if hint is None:
        click.echo("that was the last hint; `--solution` shows the whole answer", err=True)
        hint = exercise.hints[-1]
    click.echo(visible(f"hint {number} of {count}: {hint}"))


def _judge(exercise: Exercise, *, watch: bool, **options: Any) -> None:
    """Judge the file as it is, and with `watch` whenever it is saved until it is right."""
    is_new = exercises.state(exercise) == "new"
    path = exercises.open_file(exercise)
    click.echo(_visible_lines(f"{exercise.title}\n\n{exercise.task}\n\nYour file: {path}\n"))
    if is_new and not watch:
        click.echo("Open it in your editor and fill the gap. Then run this command again.")
        click.echo("With --watch it is judged whenever you save. --hint gives a hint.")
        return
    session = LessonSession(exercise.lesson, **options)
    with contextlib.closing(session):
        last_saved = exercises.saved(path)
        judged = _judge_once(exercise, session)
        while watch and judged.result.status in ("fail", "error"):
            click.echo("\nwatching: save the file, or press Enter, to try again", err=True)
            _wait_for_save(path, last_saved)
            last_saved = exercises.saved(path)
            judged = _judge_once(exercise, session)
    sys.exit(_exit_code(judged))


def _judge_once(exercise: Exercise, session: LessonSession) -> Judged:
    judged = None
    for item in exercises.judge(exercise, session.run):
        if isinstance(item, Judged):
            judged = item
        else:
            click.echo(_visible_lines(item.text), nl=False)
    assert judged is not None  # noqa: S101  the last item is the verdict
    words = {"pass": "RIGHT", "fail": "NOT YET", "error": "BROKEN"}
    word = words.get(judged.result.status, "NOT RUN")
    click.echo(visible(f"{word}  {judged.why}".rstrip()))
    return judged


def _visible_lines(text: str) -> str:
    """Return what an answer printed, without what could change the terminal."""
    return "\n".join(visible(line) for line in text.split("\n"))


def _wait_for_save(path: Path, last_saved: tuple[int, int] | None) -> None:
    """Wait until a file was saved since, or Enter is pressed."""
    keys = [sys.stdin] if sys.stdin.isatty() else []
    while (saved := exercises.saved(path)) == last_saved or saved is None:
        if select.select(keys, [], [], exercises.LOOK_S)[0]:
            sys.stdin.readline()
            return


def _exit_code(judged: Judged) -> ExitCode:
    """Return the exit code: that of a check with this result."""
    if judged.is_right:
        return ExitCode.OK
    return ExitCode.FAILED if judged.result.status == "fail" else ExitCode.INCONCLUSIVE

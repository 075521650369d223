"""`tpustarter learn --exercise`: an exercise in your own editor, judged when asked or saved."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import textwrap
import time
import tty
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import click

from tpustarter.cli import onward
from tpustarter.content import Lesson
from tpustarter.invocation import as_typed
from tpustarter.learning import exercises
from tpustarter.learning.exercises import Exercise, Judged
from tpustarter.learning.lesson_process import LessonSession
from tpustarter.problem import ExitCode
from tpustarter.terminal import WIDTH, visible

KEYS = "save the file to try again. Keys: h hint, s solution, r again, q quit"
END_OF_INPUT = "\x04"
"""What Ctrl-D types, and what a terminal that is gone reads as."""
WORDS = {"new": "", "begun": "begun", "fail": "begun", "pass": "done", "shown": "shown"}


def show_all(lessons: list[Lesson]) -> None:
    """List every exercise with how far the learner is."""
    for lesson in lessons:
        for exercise in exercises.read(lesson):
            prefix = f"{WORDS[exercises.state(exercise)]:<6}{exercise.id:<29} "
            click.echo(textwrap.fill(visible(exercise.title), WIDTH, initial_indent=prefix,
                                     subsequent_indent=" " * len(prefix)))  # fmt: skip
    click.echo(as_typed("\nTry one: tpustarter learn --exercise ID"))


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
            if not _watch(exercise, path, last_saved):
                break
            last_saved = exercises.saved(path)
            judged = _judge_once(exercise, session)
    if judged.is_right:
        onward.after_right(exercise)
    sys.exit(_exit_code(judged))


def _watch(exercise: Exercise, path: Path, last_saved: tuple[int, int] | None) -> bool:
    """Wait until the file is saved, and answer keys meanwhile; returns whether to judge it."""
    with _keys() as read_key:
        offered = KEYS if read_key else "save the file to try again"
        click.echo(f"\nwatching: {offered}", err=True)
        while (saved := exercises.saved(path)) == last_saved or saved is None:
            key = read_key() if read_key else time.sleep(exercises.LOOK_S)
            if key in ("r", "\n", "\r"):
                return True
            if key in ("q", END_OF_INPUT):
                return False
            if key == "h":
                _show_hint(exercise)
            elif key == "s":
                click.echo(exercises.show_solution(exercise), nl=False)
    return True


@contextlib.contextmanager
def _keys() -> Generator[Callable[[], str] | None]:
    """Return what waits a moment for a key, without Enter; None where nobody types."""
    if not sys.stdin.isatty():
        yield None
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)

    def read_key() -> str:
        if not select.select([terminal], [], [], exercises.LOOK_S)[0]:
            return ""
        return os.read(terminal, 1).decode("ascii", "replace").lower() or END_OF_INPUT

    try:
        tty.setcbreak(terminal)
        yield read_key
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


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


def _exit_code(judged: Judged) -> ExitCode:
    """Return the exit code: that of a check with this result."""
    if judged.is_right:
        return ExitCode.OK
    return ExitCode.FAILED if judged.result.status == "fail" else ExitCode.INCONCLUSIVE

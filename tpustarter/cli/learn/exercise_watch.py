"""`tpustarter learn --exercise ID --watch`: judges the file on every save, and accepts keys.

A key needs no Enter. However the watch ends, the terminal's line mode is restored.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

import click

from tpustarter.cli.command_end import exit_at_signals
from tpustarter.cli.learn import next_step as learn_next_step
from tpustarter.cli.learn.exercise_text import (
    format_retry_command,
    judge_learner_file,
    show_hint,
    show_task,
)
from tpustarter.core import content
from tpustarter.learning.content import exercises
from tpustarter.learning.content.exercises import AnswerVerdict, Exercise
from tpustarter.learning.progress.lesson_summary import NextLearningStep
from tpustarter.learning.run.lesson_process import LessonSession, LessonSessionOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

END_OF_INPUT = "\x04"
"""The character that Ctrl-D types, also used for a closed terminal."""
ENTER = ("\n", "\r")

ReadKey = Callable[[], str]


def watch_exercise(exercise: Exercise, **options: Unpack[LessonSessionOptions]) -> AnswerVerdict:
    """Judge the file on every save, and continue with the next exercise on request.

    Without a terminal, the watch ends with the first right answer.
    """
    with exit_at_signals(lambda: f"{format_retry_command(exercise)} --watch"), _keys() as read_key:
        while True:
            judged, way = _watch_exercise(exercise, read_key, **options)
            if way is None or way.exercise is None:
                break
            exercise = exercises.find_exercise(content.read_lessons(), way.exercise)
            click.echo()
            show_task(exercise, exercises.ensure_learner_file(exercise))
    if way and way.lesson:
        _read_lesson(way.lesson)
    return judged


def _watch_exercise(
    exercise: Exercise, read_key: ReadKey | None, **options: Unpack[LessonSessionOptions]
) -> tuple[AnswerVerdict, NextLearningStep | None]:
    """Watch one exercise; return its last verdict and the next step, or None to end the watch."""
    path, has_keys = exercises.ensure_learner_file(exercise), read_key is not None
    with contextlib.closing(LessonSession(exercise.lesson, **options)) as session:
        while True:
            last_saved = exercises.read_save_stamp(path)
            judged = judge_learner_file(exercise, session)
            way = learn_next_step.print_end_of_exercise(exercise) if judged.is_right else None
            leads_on = way is not None and bool(way.exercise or way.lesson)
            if judged.result.status not in ("fail", "error") and not (leads_on and has_keys):
                return judged, None
            click.echo(f"\n{_offer(way, with_keys=has_keys)}", err=True)
            key = _wait(exercise, last_saved, read_key, way)
            if key in ("q", END_OF_INPUT):
                return judged, None
            if key == "n":
                return judged, way
            click.echo(err=True)


def _offer(way: NextLearningStep | None, *, with_keys: bool) -> str:
    if not with_keys:
        return "Save the file to try again."
    if way is None:
        return (
            "Save the file to try again. Or press h for a hint, s for the solution, r to judge it "
            "again, or q to quit."
        )
    following = "exercise" if way.exercise else "lesson"
    return (
        f"Press n for the next {following}, s for the solution, r to judge it again, or q to quit."
    )


def _wait(
    exercise: Exercise,
    last_saved: tuple[int, int] | None,
    read_key: ReadKey | None,
    way: NextLearningStep | None,
) -> str:
    """Wait for a save or for a key that ends the wait, and return the key; a save returns `r`."""
    path = exercises.learner_file_path(exercise)
    while (saved := exercises.read_save_stamp(path)) == last_saved or saved is None:
        key = read_key() if read_key else time.sleep(exercises.LOOK_S)
        if key in ("q", END_OF_INPUT) or (key == "n" and way):
            return key
        if key in ("r", *ENTER):
            return "r"
        if key == "h" and way is None:
            click.echo()
            show_hint(exercise)
        elif key == "s":
            click.echo(f"\nThe solution:\n\n{exercises.reveal_solution(exercise)}", nl=False)
        else:
            continue
        click.echo(f"\n{_offer(way, with_keys=True)}", err=True)  # repeated after a long solution
    return "r"


def _read_lesson(lesson_id: str) -> None:
    from tpustarter.cli.learn import lesson_page

    lesson = content.find_lesson(lesson_id, content.read_lessons())
    lesson_page.print_lessons([lesson])


@contextlib.contextmanager
def _keys() -> Generator[ReadKey | None]:
    """Yield a function that waits briefly for a key without Enter, or None without a terminal."""
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

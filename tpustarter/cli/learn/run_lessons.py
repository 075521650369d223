"""`tpustarter learn --run`: runs the blocks of lessons, and judges their output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tpustarter.cli.command_end import print_result, stop_at_signals
from tpustarter.cli.echo import echo_lines
from tpustarter.cli.learn import next_step as learn_next_step
from tpustarter.core.content import Lesson
from tpustarter.core.problem import ExitCode
from tpustarter.learning.run.lesson_process import LessonSessionOptions
from tpustarter.text.terminal import escape_text

if TYPE_CHECKING:
    from typing_extensions import Unpack


def run_lessons(
    lessons: list[Lesson], *, as_json: bool, **options: Unpack[LessonSessionOptions]
) -> None:
    """Run the blocks of lessons, print each result, and exit with the run's code."""
    from tpustarter.learning.run import lesson_run_text
    from tpustarter.learning.run.lessons_run import LessonsRun

    batch = LessonsRun(lessons, **options)
    printer = lesson_run_text.LessonRunPrinter(click.echo, echo_lines, finished=not as_json)
    with stop_at_signals(batch.stop):
        for event in batch.events():
            printer.print_event(event)
    code = batch.exit_code()
    if as_json:
        print_result(lesson_run_text.make_json_document(batch))
    else:
        echo_lines(lesson_run_text.format_headline(batch))
        if len(lessons) == 1 and batch.run.results:
            learn_next_step.print_end_of_run(lessons[0], all_passed=code == ExitCode.OK)
    if batch.not_kept:
        message = f"warning: what you did is not remembered: {batch.not_kept.full_text}"
        click.echo(escape_text(message), err=True)
    if code != ExitCode.OK:
        click.echo(lesson_run_text.format_reason(batch, code), err=True)
    if broken := next((one for one in batch.run.results if one.status == "error"), None):
        command = f"tpustarter learn {broken.lesson} --run 2>&1 | tpustarter explain"
        click.echo(f"why: `{command}`", err=True)
    sys.exit(code)

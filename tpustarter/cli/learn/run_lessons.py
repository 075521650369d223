"""`tpustarter learn --run`: runs the blocks of lessons, and judges their output."""

from __future__ import annotations

import sys
from typing import Any

import click

from tpustarter.cli.command_end import print_result, stopped_by_signals
from tpustarter.cli.echo import say
from tpustarter.cli.learn import next_step as learn_next_step
from tpustarter.core.content import Lesson
from tpustarter.core.problem import ExitCode
from tpustarter.text.terminal import visible


def run(lessons: list[Lesson], *, as_json: bool, **options: Any) -> None:
    """Run the blocks of lessons, print how each ended, and exit with the code of the run."""
    from tpustarter.learning.run import lesson_run
    from tpustarter.learning.run.batch_run import BatchRun

    practice = BatchRun(lessons, **options)
    printer = lesson_run.LessonRunPrinter(click.echo, say, finished=not as_json)
    with stopped_by_signals(practice.stop):
        for event in practice.events():
            printer.event(event)
    code = practice.exit_code()
    if as_json:
        print_result(lesson_run.document(practice))
    else:
        say(lesson_run.headline(practice))
        if len(lessons) == 1 and practice.run.results:
            learn_next_step.after_run(lessons[0], all_passed=code == ExitCode.OK)
    if practice.not_kept:
        message = f"warning: what you did is not remembered: {practice.not_kept.what}"
        click.echo(visible(message), err=True)
    if code != ExitCode.OK:
        click.echo(lesson_run.why(practice, code), err=True)
    if broken := next((one for one in practice.run.results if one.status == "error"), None):
        command = f"tpustarter learn {broken.lesson} --run 2>&1 | tpustarter explain"
        click.echo(f"why: `{command}`", err=True)
    sys.exit(code)

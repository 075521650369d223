"""`tpustarter learn --run`: run the blocks of lessons, and judge what they print."""

from __future__ import annotations

import sys
from typing import Any

import click

from tpustarter.cli import onward
from tpustarter.cli.endings import print_result, stopped_by_signals
from tpustarter.cli.saying import say
from tpustarter.content import Lesson
from tpustarter.problem import ExitCode
from tpustarter.terminal import visible


def run(lessons: list[Lesson], *, as_json: bool, **options: Any) -> None:
    """Run the blocks of lessons and say how each ended; ends this process with its exit code."""
    from tpustarter.learning import lesson_run
    from tpustarter.learning.practice import Practice

    practice = Practice(lessons, **options)
    printer = lesson_run.Shown(click.echo, say, finished=not as_json)
    with stopped_by_signals(practice.stop):
        for event in practice.events():
            printer.event(event)
    code = practice.exit_code()
    if as_json:
        print_result(lesson_run.document(practice))
    else:
        say(lesson_run.headline(practice))
        if len(lessons) == 1 and practice.run.results:
            onward.after_run(lessons[0], all_passed=code == ExitCode.OK)
    if practice.not_kept:
        message = f"warning: what you did is not remembered: {practice.not_kept.what}"
        click.echo(visible(message), err=True)
    if code != ExitCode.OK:
        click.echo(lesson_run.why(practice, code), err=True)
    if broken := next((one for one in practice.run.results if one.status == "error"), None):
        command = f"tpustarter learn {broken.lesson} --run 2>&1 | tpustarter explain"
        click.echo(f"why: `{command}`", err=True)
    sys.exit(code)

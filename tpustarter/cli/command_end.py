"""Handling of signals and errors when a command ends, with errors as JSON if requested."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import click

from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text import phrases
from tpustarter.text.invocation import NAME, tpustarter_command
from tpustarter.text.terminal import escape_text


@contextlib.contextmanager
def stop_at_signals(stop: Callable[[int], None]) -> Generator[None]:
    """Call `stop` at Ctrl-C, TERM or HUP, so that the run ends cleanly.

    A second signal calls it again, which kills the processes that were only asked to end. A third
    one exits at once.
    """

    def on_first_signal(number: int, _: object) -> None:
        stop(number)
        signal.signal(number, on_second_signal)

    def on_second_signal(number: int, _: object) -> None:
        stop(number)
        signal.signal(number, on_third_signal)

    def on_third_signal(number: int, _: object) -> None:
        sys.exit(ExitCode.INTERRUPTED if number == signal.SIGINT else ExitCode.TERMINATED)

    with handle_end_signals(on_first_signal):
        yield


@contextlib.contextmanager
def exit_at_signals(following: Callable[[], str]) -> Generator[None]:
    """Exit at Ctrl-C, TERM or HUP, cleaning up everything that was started.

    Args:
        following: Returns the command that continues after Ctrl-C.
    """

    def leave(number: int, _: object) -> None:
        if number == signal.SIGINT:
            text = f"\nexit {int(ExitCode.INTERRUPTED)}: stopped by you. Next: `{following()}`"
            click.echo(text, err=True)
        sys.exit(ExitCode.INTERRUPTED if number == signal.SIGINT else ExitCode.TERMINATED)

    with handle_end_signals(leave):
        yield


@contextlib.contextmanager
def handle_end_signals(handler: Callable[[int, object], None]) -> Generator[None]:
    """Handle Ctrl-C, TERM and HUP with `handler` within the block.

    A signal that is already ignored, as under nohup, stays ignored.
    """
    numbers = [
        number
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # under nohup, or in the background
    ]
    handlers = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in handlers.items():
            signal.signal(number, former)


def format_explain_command(logs: Sequence[Path]) -> str:
    """Return the command that explains a failed run's logs."""
    if len(logs) == 1:
        return f"tpustarter explain {format_path(logs[0])}"
    return f"cat {format_path(logs[0].parent)}/* | tpustarter explain"


def format_path(path: Path) -> str:
    """Return a path as the user would type it, with `~` for the home folder."""
    from shlex import quote  # slow to import, and rarely needed

    quoted = quote(str(path))
    home = os.environ.get("HOME", "").rstrip("/")
    is_plain = quoted == str(path) and home and quoted.startswith(f"{home}/")
    return escape_text(f"~{quoted[len(home) :]}" if is_plain else quoted)


@contextlib.contextmanager
def print_errors_as_json(schema: str, *, wanted: bool) -> Generator[None]:
    """Print a JSON error on stdout for an exception, and re-raise it."""
    try:
        yield
    except Exception as error:
        if wanted:
            print_error_json(error, schema)
        raise


def print_result(fields: dict[str, object]) -> None:
    """Print a run's JSON document, which contains its exit code.

    The next signal therefore no longer changes that code; a second one ends the process at once.
    """
    from tpustarter.checking.output import run_document

    _pass_over_one_signal()
    click.echo(run_document.format_json_line(fields))


def _pass_over_one_signal() -> None:
    """Ignore one signal, whose handler restores the previous handlers for the second one."""
    former = {
        number: signal.getsignal(number)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # under nohup, or in the background
    }

    def pass_over(_: int, __: object) -> None:
        for number, handler in former.items():
            signal.signal(number, handler)

    for number in former:
        signal.signal(number, pass_over)


def convert_usage_error(error: click.ClickException) -> Problem:
    """Return click's usage error as a Problem that names the help to read."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    words = context.command_path.removeprefix(tpustarter_command()) if context else ""
    hint = f"run `{NAME}{words} --help` for what it takes"
    if isinstance(error, click.NoSuchOption):
        what = f"there is no option `{error.option_name}`"
        near = phrases.join_words((f"`{name}`" for name in error.possibilities or ()), "or")
        return Problem(
            what, hint=f"did you mean {near}? Or {hint}" if near else hint, code=ExitCode.USAGE
        )
    text = " ".join(error.format_message().split())  # choices are listed one below the other
    return Problem(text[:1].lower() + text[1:].rstrip("."), hint=hint, code=ExitCode.USAGE)


def print_error_json(error: Exception, schema: str) -> None:
    """Print an error as a JSON document, or as the last event with `--ndjson`."""
    from tpustarter.checking.output import run_document

    if isinstance(error, click.ClickException):
        error = convert_usage_error(error)
    event = {"event": "error"} if "--ndjson" in sys.argv else {}
    click.echo(
        run_document.format_json_line(
            {**event, **run_document.error_fields(error), "schema": schema}
        )
    )

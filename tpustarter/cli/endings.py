"""How a command that runs something ends: signals in good order, and JSON also for an error."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import click

from tpustarter.invocation import NAME, command
from tpustarter.problem import ExitCode, Problem
from tpustarter.terminal import visible


@contextlib.contextmanager
def stopped_by_signals(stop: Callable[[int], None]) -> Generator[None]:
    """Let Ctrl-C, TERM and HUP end the run in good order.

    The second one ends what was told to end by itself, the third ends the wait too.
    """

    def on_first_signal(number: int, _: object) -> None:
        stop(number)
        signal.signal(number, on_second_signal)

    def on_second_signal(number: int, _: object) -> None:
        stop(number)
        signal.signal(number, on_third_signal)

    def on_third_signal(number: int, _: object) -> None:
        sys.exit(ExitCode.INTERRUPTED if number == signal.SIGINT else ExitCode.TERMINATED)

    with _handled_by(on_first_signal):
        yield


@contextlib.contextmanager
def left_by_signals(following: Callable[[], str]) -> Generator[None]:
    """Let Ctrl-C, TERM and HUP end this process on the way out of what it has begun.

    Args:
        following: Returns the command that goes on, for who pressed Ctrl-C.
    """

    def leave(number: int, _: object) -> None:
        if number == signal.SIGINT:
            text = f"\nexit {int(ExitCode.INTERRUPTED)}: stopped by you. Next: `{following()}`"
            click.echo(text, err=True)
        sys.exit(ExitCode.INTERRUPTED if number == signal.SIGINT else ExitCode.TERMINATED)

    with _handled_by(leave):
        yield


@contextlib.contextmanager
def _handled_by(handler: Callable[[int, Any], None]) -> Generator[None]:
    """Have a handler for the signals that end a command, but for those that are ignored."""
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


def explaining(logs: Sequence[Path]) -> str:
    """Return the command that explains the logs of a run that failed."""
    if len(logs) == 1:
        return f"tpustarter explain {typed(logs[0])}"
    return f"cat {typed(logs[0].parent)}/* | tpustarter explain"


def typed(path: Path) -> str:
    """Return a path as it is typed; the home's name is left out, as everywhere."""
    from shlex import quote  # takes long, and is seldom needed

    quoted = quote(str(path))
    home = os.environ.get("HOME", "").rstrip("/")
    is_plain = quoted == str(path) and home and quoted.startswith(f"{home}/")
    return visible(f"~{quoted[len(home) :]}" if is_plain else quoted)


@contextlib.contextmanager
def json_even_if_it_breaks(schema: str, *, wanted: bool) -> Generator[None]:
    """Put a JSON error on stdout for an error that ends the run; the boundary still shows it."""
    try:
        yield
    except Exception as error:
        if wanted:
            print_error_json(error, schema)
        raise


def print_result(fields: dict[str, Any]) -> None:
    """Put the document of a run on stdout; it says with which code the run ends.

    So the first signal from here on no longer changes that code; a second one ends at once.
    """
    from tpustarter.checking import document

    _pass_over_one_signal()
    click.echo(document.line(fields))


def _pass_over_one_signal() -> None:
    """Let one signal go by; where a former handler ends the process, the next one does."""
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


def refused(error: click.ClickException) -> Problem:
    """Return what click refuses as an error of ours, with the command that says what there is."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    words = context.command_path.removeprefix(command()) if context else ""
    hint = f"run `{NAME}{words} --help` for what it takes"
    if isinstance(error, click.NoSuchOption):
        what = f"there is no option `{error.option_name}`"
        near = " or ".join(f"`{name}`" for name in error.possibilities or ())
        return Problem(what, hint=f"did you mean {near}? Or {hint}" if near else hint,
                       code=ExitCode.USAGE)  # fmt: skip
    text = error.format_message()
    return Problem(text[:1].lower() + text[1:].rstrip("."), hint=hint, code=ExitCode.USAGE)


def print_error_json(error: Exception, schema: str) -> None:
    """Put an error on stdout: a document, or the last event where `--ndjson` was asked for."""
    from tpustarter.checking import document

    if isinstance(error, click.ClickException):
        error = refused(error)
    event = {"event": "error"} if "--ndjson" in sys.argv else {}
    click.echo(document.line({**event, **document.error_fields(error), "schema": schema}))

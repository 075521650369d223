"""What the verbs of `tpustarter tpu` share: options, the client, commands and events as text."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tpustarter.cli.saying import say
from tpustarter.cloud import events, places, words
from tpustarter.cloud.clock import WallClock
from tpustarter.cloud.overview import Row
from tpustarter.cloud.places import Project
from tpustarter.cloud.resources import Node
from tpustarter.cloud.words import command_lines
from tpustarter.problem import ExitCode, Problem
from tpustarter.terminal import paint_for, visible, wrap

if TYPE_CHECKING:
    from tpustarter.cloud.client import Client

INDENT = " " * 6
_COLOURS = {"good": "green", "wait": "cyan", "act": "yellow", "bad": "red", "unknown": "magenta"}

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Result = TypeVar("_Result")


def common_options(*, zone: str | None = "The zone.") -> Callable[[_Function], _Function]:
    """Return what adds `--project`, `--zone` unless there is no help for it, and `--dry-run`."""

    def add(function: _Function) -> _Function:
        dry = click.option(
            "--dry-run", is_flag=True, help="Show the gcloud command and send nothing."
        )
        project = click.option(
            "--project", metavar="ID", help="The Google Cloud project.  [default: gcloud's]"
        )
        function = dry(project(function))
        if zone is not None:
            option = click.option("--zone", metavar="ZONE", help=f"{zone}  [default: gcloud's]")
            function = option(function)
        return function

    return add


def connect(project: Project) -> Client:
    """Return Google's client for a project; says so if it talks to a server on this machine."""
    from tpustarter.cloud import client

    if address := client.endpoint():
        click.echo(f"asking {address} in place of Google ({client.ENDPOINT})", err=True)
    return client.Client(project.name)


def place(typed: str | None, *, dry_run: bool) -> Project:
    """Return the project; a placeholder where none is known and nothing will be sent."""
    if dry_run and places.find_project(typed) is None:
        return places.PLACEHOLDER
    return places.project(typed)


def show_commands(commands: Iterable[tuple[str, ...]], *, dry_run: bool) -> None:
    """Print the gcloud commands that do the same, before anything is sent."""
    click.echo("The same with gcloud:")
    for command in commands:
        for line in command_lines(command):
            click.echo(visible(line))
    if dry_run:
        click.echo("Nothing was sent.")


def confirm(question: str, expected: str, option: str, *, yes: bool) -> None:
    """Return if the user types what is expected; raises Problem otherwise.

    Args:
        question: Asked on stderr.
        expected: What must be typed, such as the name of what is deleted.
        option: What answers it where nobody can be asked.
        yes: Whether that option was given.
    """
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Problem(
            "there is no terminal to ask on, so nothing was sent",
            hint=f"add `{option}` once you have read the command above",
            code=ExitCode.USAGE,
        )
    typed = click.prompt(question, default="", show_default=False, err=True)
    if typed.strip() != expected:
        raise Problem(
            f"found `{visible(typed)}`, expected `{expected}`, so nothing was sent",
            code=ExitCode.INTERRUPTED,
        )


def describe_row(row: Row, now: datetime) -> Iterator[str]:
    """Yield one TPU: its line, what its state means, and what can be done."""
    age = words.age(row, now)
    mark = paint_for(_COLOURS)(row.state.name, row.state.mark)
    yield f"{visible(row.name)}  {visible(words.place(row))}{f', {age}' if age else ''}  {mark}"
    for sentence in (row.state.meaning, *words.of_row(row), words.of_clocks(row, now)):
        yield from wrap(visible(sentence), INDENT)
    if workers := words.of_workers(row):
        yield f"{INDENT}{visible(workers)}"
    yield from wrap(row.state.do, f"{INDENT}do  ", f"{INDENT}    ")


def draw(node: Node, indent: str) -> Iterator[str]:
    """Yield the picture of a slice: its hosts with their chips, and the state of each worker."""
    from tpustarter.cloud import drawing

    if lines := list(drawing.text(node)):
        yield f"{indent}{drawing.title(node)}"
    paint = paint_for(_COLOURS)
    for begin, state, mark in lines:
        yield f"{indent}{begin}{paint(visible(state), mark)}"


class _StoppedError(BaseException):
    """A signal ended the wait; no `Exception`, so that nothing on the way catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def stoppable(hint: str) -> Generator[None]:
    """Let Ctrl-C, TERM and HUP end a wait, and say what becomes of the request."""

    def stop(number: int, _: object) -> None:
        raise _StoppedError(number)

    numbers = [
        number
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # under nohup, or in the background
    ]
    handlers = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    except _StoppedError as stopped:
        interrupted = stopped.number == signal.SIGINT
        raise Problem(
            "stopped waiting",
            hint=hint,
            code=ExitCode.INTERRUPTED if interrupted else ExitCode.TERMINATED,
        ) from None
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def show_events(happening: Generator[events.Event, None, _Result]) -> _Result:
    """Print each event as it happens; returns what the generator returns."""
    while True:
        try:
            event = next(happening)
        except StopIteration as end:
            return end.value
        say(describe_event(event))


def describe_event(event: events.Event) -> Iterator[str]:
    """Yield what happened, with its time of day."""
    now = WallClock().now().astimezone()
    at = f"{now:%H:%M:%S}  "
    hang = " " * len(at)
    for number, line in enumerate(words.of_event(event)):
        yield from wrap(visible(line), hang if number else at, hang)

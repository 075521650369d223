"""What the verbs of `tpustarter tpu` share: options, the client, commands and events as text."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tpustarter.cloud import events, places
from tpustarter.cloud.clock import WallClock, format_age
from tpustarter.cloud.overview import Row
from tpustarter.cloud.places import Project
from tpustarter.problem import ExitCode, Problem
from tpustarter.terminal import paint_for, visible, wrap

if TYPE_CHECKING:
    from tpustarter.cloud.client import Client

INDENT = " " * 6
_COLOURS = {"good": "green", "wait": "cyan", "act": "yellow", "bad": "red", "unknown": "magenta"}
_WIDTH = 80

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Result = TypeVar("_Result")


def common_options(*, zone: str | None = "Where.") -> Callable[[_Function], _Function]:
    """Return what adds `--project`, `--zone` unless there is no help for it, and `--dry-run`."""

    def add(function: _Function) -> _Function:
        dry = click.option("--dry-run", is_flag=True, help="Show the gcloud command, send nothing.")
        project = click.option("--project", metavar="ID", help="[default: gcloud's]")
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


def command_lines(command: tuple[str, ...]) -> Iterator[str]:
    """Yield a command as it is pasted into a shell, over as many lines as it needs."""
    import shlex

    line = "$"
    for word in (shlex.quote(word) for word in command):
        if len(line) + len(word) + 3 > _WIDTH and line.strip() != "$":
            yield f"{line} \\"
            line = "   "
        line += f" {word}"
    yield line


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
    age_s = row.age_s(now)
    age = f", {format_age(age_s)}" if age_s is not None else ""
    mark = paint_for(_COLOURS)(row.state.name, row.state.mark)
    yield f"{visible(row.name)}  {visible(row.type)} {row.tier} in {visible(row.zone)}{age}  {mark}"
    yield from wrap(row.state.meaning, INDENT)
    if row.error:
        yield from wrap(f"Google's text: {visible(row.error)[:600]}", INDENT)
    for trouble in row.troubles:
        yield from wrap(visible(trouble), INDENT)
    if row.note:
        yield from wrap(f"From the ledger: {visible(row.note)}.", INDENT)
    yield from wrap(row.state.do, f"{INDENT}do  ", f"{INDENT}    ")


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
        for line in describe_event(event):
            click.echo(line)


def describe_event(event: events.Event) -> Iterator[str]:
    """Yield what happened, with its time of day."""
    now = WallClock().now().astimezone()
    at = f"{now:%H:%M:%S}  "
    hang = " " * len(at)
    for number, line in enumerate(_sentences(event)):
        yield from wrap(visible(line), hang if number else at, hang)


def _sentences(event: events.Event) -> Iterator[str]:
    if isinstance(event, events.Asked):
        yield f"Google has taken the request for `{event.entry.name}` in {event.entry.zone}."
    elif isinstance(event, events.StateSeen):
        yield from _state_sentences(event)
    elif isinstance(event, events.Refused):
        yield f"{event.entry.zone}: {event.problem.what.partition(chr(10))[0]}."
        yield f"Google's text: {event.problem.text[:600]}"
        if event.goes_on:
            yield "Another zone is tried, or this one again later."
    elif isinstance(event, events.Pausing):
        yield f"Waiting {format_age(event.seconds)}: {event.why}."
    elif isinstance(event, events.Cancelling):
        yield f"Taking `{event.entry.name}` in {event.entry.zone} back, because {event.why}."
    elif isinstance(event, events.Gone):
        yield f"`{event.entry.name}` in {event.entry.zone} is gone, and nothing of it is billed."
    elif isinstance(event, events.Kept):
        yield f"`{event.entry.name}` in {event.entry.zone} may still exist: {event.why}."
        yield "It stays in the ledger, and `tpustarter tpu list` shows it until it is gone."
    else:
        yield f"`{event.entry.name}` is ready in {event.entry.zone}."


def _state_sentences(event: events.StateSeen) -> Iterator[str]:
    from tpustarter.cloud import states

    state = states.of_resource(event.resource)
    yield f"{state.name}  {state.meaning}"
    if state.next:
        yield f"Next: {state.next}" + (f" {state.usually}" if state.usually else "")

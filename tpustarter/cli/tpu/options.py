"""Parts shared by the verbs of `tpustarter tpu`: options, client, commands and events."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from tpustarter.cli.command_end import handle_end_signals, print_result
from tpustarter.cli.echo import echo_lines
from tpustarter.cloud.api import project_and_zone
from tpustarter.cloud.api.clock import WallClock
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import TpuNode
from tpustarter.cloud.billing.inventory import ListedTpu
from tpustarter.cloud.create import events
from tpustarter.cloud.text import event_text
from tpustarter.cloud.text.event_text import command_lines
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text.terminal import choose_paint, escape_text, wrap

if TYPE_CHECKING:
    from tpustarter.cloud.api.cloud_client import CloudClient

INDENT = " " * 6
_COLOURS = {"good": "green", "wait": "cyan", "act": "yellow", "bad": "red", "unknown": "magenta"}

_Function = TypeVar("_Function", bound=Callable[..., object])
_Event = TypeVar("_Event")
_Result = TypeVar("_Result")


def common_options(*, zone: str | None = "The zone.") -> Callable[[_Function], _Function]:
    """Return a decorator that adds `--project`, `--dry-run`, and `--zone` if it has a help text."""

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


def api_option(function: _Function) -> _Function:
    """Add `--api`, which tells two TPUs of one name apart."""
    option = click.option(
        "--api",
        type=click.Choice(["cloud-tpu", "compute"]),
        help="The API that made it, if each has one of this name.",
    )
    return option(function)


def connection_options(function: _Function) -> _Function:
    """Add the options about the way to the workers; without them it is that of the job's start."""
    for option in (
        click.option("--user", metavar="NAME", help="The user to log in as."),
        click.option(
            "--iap", is_flag=True, help="Connect through Identity-Aware Proxy, even if not needed."
        ),
        click.option(
            "--via",
            type=click.Choice(["gcloud", "ssh"]),
            help="The program that connects.  [default: gcloud]",
        ),
    ):
        function = option(function)
    return function


def make_google_client(project: Project) -> CloudClient:
    """Return a project's client; prints a note if a local server replaces Google."""
    from tpustarter.cloud.api import cloud_client, tpu_client

    if address := tpu_client.find_tpu_test_server():
        click.echo(f"asking {address} in place of Google ({tpu_client.ENDPOINT})", err=True)
    return cloud_client.CloudClient(project.name)


def choose_project(typed: str | None, *, dry_run: bool) -> Project:
    """Return the project, or a placeholder in a dry run if none is known."""
    if dry_run and project_and_zone.find_project(typed) is None:
        return project_and_zone.PLACEHOLDER
    return project_and_zone.require_project(typed)


def show_commands(
    commands: Iterable[tuple[str, ...]], *, dry_run: bool, schema: str | None = None
) -> None:
    """Print the equivalent gcloud commands, before anything is sent.

    Args:
        commands: Each command's arguments.
        dry_run: True if nothing is sent afterwards.
        schema: The name of the requested JSON document, if any.
    """
    if schema:
        print_dry_run_json(map(shlex.join, commands), schema)
        return
    click.echo("The same with gcloud:")
    for command in commands:
        for line in command_lines(command):
            click.echo(escape_text(line))
    if dry_run:
        click.echo("Nothing was sent.")


def print_dry_run_json(commands: Iterable[str], schema: str) -> None:
    """Print a dry run's JSON document on stdout."""
    from tpustarter.core.redact import Redactor  # takes 8 ms, and `tpu list` needs none

    redacted = [Redactor(os.environ).redact_text(command) for command in commands]
    print_result({"schema": schema, "commands": redacted, "exit_code": ExitCode.OK})


def require_typed_text(question: str, expected: str, option: str, *, yes: bool) -> None:
    """Ask the user to type the expected text; raises Problem if it differs.

    Args:
        question: The prompt on stderr.
        expected: The text to type, such as the name of the TPU to delete.
        option: The option that confirms without a terminal; "" if none does.
        yes: True if that option was given.
    """
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Problem(
            "there is no terminal to ask on, so nothing was sent",
            hint=f"add `{option}` once you have read the command above"
            if option
            else f"run it in a terminal, and type `{expected}` there",
            code=ExitCode.USAGE,
        )
    typed = click.prompt(question, default="", show_default=False, err=True)
    if typed.strip() != expected:
        raise Problem(
            f"found `{escape_text(typed)}`, expected `{expected}`, so nothing was sent",
            code=ExitCode.INTERRUPTED,
        )


def format_tpu_lines(row: ListedTpu, now: datetime) -> Iterator[str]:
    """Yield one TPU's lines: its state, the state's meaning, and the user's next action."""
    age = event_text.format_age(row, now)
    mark = choose_paint(_COLOURS)(row.state.name, row.state.mark)
    where = escape_text(event_text.format_type_and_zone(row)) + (f", {age}" if age else "")
    yield f"{escape_text(row.name)}  {where}  {mark}"
    for sentence in (
        row.state.meaning,
        *event_text.describe_tpu_row(row),
        event_text.warn_of_wrong_clock(row, now),
    ):
        yield from wrap(escape_text(sentence), INDENT)
    if workers := event_text.format_worker_states(row):
        yield f"{INDENT}{escape_text(workers)}"
    yield from wrap(row.state.do, f"{INDENT}do  ", f"{INDENT}    ")


def draw_slice(node: TpuNode, indent: str) -> Iterator[str]:
    """Yield a slice's drawing: its hosts with their chips, and each worker's state."""
    from tpustarter.cloud.text import slice_drawing

    if lines := list(slice_drawing.draw_lines(node)):
        yield f"{indent}{slice_drawing.describe_slice_hosts(node)}"
    paint = choose_paint(_COLOURS)
    for begin, state, mark in lines:
        yield f"{indent}{begin}{paint(escape_text(state), mark)}"


class _StoppedError(BaseException):
    """The signal that ended a wait; not an `Exception`, so that no handler catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def end_wait_at_signals(hint: str | Callable[[], str]) -> Generator[None]:
    """Let Ctrl-C, TERM and HUP end a wait; raises Problem with a hint about the request."""

    def stop(number: int, _: object) -> None:
        raise _StoppedError(number)

    try:
        with handle_end_signals(stop):
            yield
    except _StoppedError as stopped:
        interrupted = stopped.number == signal.SIGINT
        raise Problem(
            "stopped waiting",
            hint=hint if isinstance(hint, str) else hint(),
            code=ExitCode.INTERRUPTED if interrupted else ExitCode.TERMINATED,
        ) from None


def show_each(
    happening: Generator[_Event, None, _Result], show: Callable[[_Event], None]
) -> _Result:
    """Show events as they arrive, and return the generator's return value."""
    while True:
        try:
            event = next(happening)
        except StopIteration as end:
            return end.value
        show(event)


def print_events(happening: Generator[events.Event, None, _Result]) -> _Result:
    """Print events as they arrive, and return the generator's return value."""
    return show_each(happening, lambda event: echo_lines(describe_event(event)))


def print_worker_lines(label: str, lines: Sequence[str], stream: TextIO) -> None:
    """Print lines of a worker, each with its label."""
    if stream.isatty():  # a worker's output must not control this terminal
        lines = [escape_text(line.expandtabs()) for line in lines]
    stream.write("".join(f"{label} | {line}\n" for line in lines))
    stream.flush()


def describe_event(event: events.Event) -> Iterator[str]:
    """Yield an event's lines, the first with the time of day."""
    now = WallClock().now().astimezone()
    at = f"{now:%H:%M:%S}  "
    hang = " " * len(at)
    for number, line in enumerate(event_text.describe_event(event)):
        yield from wrap(escape_text(line), hang if number else at, hang)

"""`tpustarter tpu run`: runs a command on one or all workers of a TPU."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tpustarter.cli.command_end import stop_at_signals
from tpustarter.cli.parameters import FiniteRange, StrictCommand
from tpustarter.cli.tpu.options import (
    choose_project,
    command_lines,
    common_options,
    make_google_client,
    print_worker_lines,
)
from tpustarter.cloud.api import project_and_zone, workers
from tpustarter.cloud.api.api_client import ProjectClient
from tpustarter.cloud.api.workers import Choice, Worker
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.cloud.jobs import job_connection, remote_command, remote_command_text, worker_output
from tpustarter.cloud.jobs.job_connection import TypedConnection
from tpustarter.cloud.jobs.remote_command import RemoteCommand, WorkerCommand, WorkerEnded
from tpustarter.cloud.jobs.worker_threads import CONNECTING
from tpustarter.core.problem import ExitCode
from tpustarter.explain import known_failures
from tpustarter.text.terminal import escape_text, wrap


@click.command(
    "run",
    cls=StrictCommand,
    short_help="Run a command on one worker of a TPU, or on all of them.",
    epilog="Example: tpustarter tpu run bert --worker all -- python3 train.py",
)
@click.argument("name")
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND")
@click.option(
    "--worker",
    default="0",
    metavar="N|all",
    help="The number of the worker, or all for every worker.  [default: 0]",
)
@click.option(
    "--via",
    type=click.Choice(["gcloud", "ssh"]),
    default="gcloud",
    help="The program that connects.  [default: gcloud]",
)
@click.option(
    "--iap",
    is_flag=True,
    help="Connect through Identity-Aware Proxy, even if the TPU has an address.",
)
@click.option("--user", metavar="NAME", help="The user to log in as.  [default: as gcloud does]")
@click.option(
    "--timeout",
    "timeout_s",
    type=FiniteRange(min=0, min_open=True),
    metavar="SECONDS",
    help="End the command on every worker after this time.",
)
@common_options()
def run_command(
    *,
    name: str,
    words: tuple[str, ...],
    worker: str,
    user: str | None,
    via: str,
    iap: bool,
    timeout_s: float | None,
    project: str | None,
    zone: str | None,
    dry_run: bool,
) -> None:
    """Run a command on one worker of a TPU, or on all of them at the same time.

    If COMMAND is one word, the shell of the worker gets it as it is. Several words are quoted, so
    that they arrive as you typed them. Each line of output names its worker, and the output of each
    worker is saved in a file. The exit code is the worst one of all workers, and 255 means that a
    worker could not be reached.
    """
    choice = workers.parse_worker_choice(worker)
    worker_connection.validate_user(user)
    named = choose_project(project, dry_run=dry_run)
    typed = TypedConnection(project_and_zone.find_zone(zone), via, iap, user)
    text = worker_connection.quote_command(words)
    if dry_run:
        tpu_request.validate_tpu_name(name)
        number = choice[0] if choice else 0
        one = job_connection.make_placeholder_worker(name, named, typed, number)
        _show_what_would_run(typed.make_route(named).command(one, text), choice)
        return
    client = make_google_client(named)
    chosen, route = job_connection.find_workers(client, named, name, typed, choice)
    _announce(chosen, typed.make_route(named).command(chosen[0], text))
    commands = [
        WorkerCommand(one.label, route.command(one, text), number)
        for number, one in enumerate(chosen)
    ]
    folder = worker_output.make_output_folder(chosen[0].node.name)
    sys.exit(_run(client, chosen, RemoteCommand(commands, folder, timeout_s=timeout_s), folder))


def _show_what_would_run(command: tuple[str, ...], choice: Choice) -> None:
    for line in command_lines(command):
        click.echo(escape_text(line))
    if choice is None or choice[1:]:
        which = "every further worker"
        if choice:
            which = remote_command_text.join_worker_names([f"w{other}" for other in choice[1:]])
        for line in wrap(
            f"The same is run for {which}. {CONNECTING} are connected at a "
            "time, and all that are connected run side by side."
        ):
            click.echo(line)
    click.echo("Nothing was run.")


def _announce(chosen: Sequence[Worker], command: tuple[str, ...]) -> None:
    for line in command_lines(command):
        click.echo(escape_text(line), err=True)
    if others := remote_command_text.describe_other_workers(chosen):
        click.echo(others, err=True)
    for caution in remote_command_text.list_warnings(chosen):
        for line in wrap(escape_text(caution)):
            click.echo(line, err=True)


def _run(
    client: ProjectClient, chosen: Sequence[Worker], remote: RemoteCommand, folder: Path
) -> int:
    began = time.monotonic()
    signals: list[int] = []
    endings: list[WorkerEnded] = []

    def stop(number: int) -> None:
        signals.append(number)
        remote.stop()

    with stop_at_signals(stop), contextlib.closing(remote.events()) as happening:
        for event in happening:
            if isinstance(event, WorkerEnded):
                endings.append(event)
            else:
                stream = sys.stdout if event.stream == "stdout" else sys.stderr
                print_worker_lines(event.command.label, event.lines, stream)
    endings.sort(key=lambda ended: ended.command.number)
    for line in _summary(endings, time.monotonic() - began, folder):
        click.echo(line, err=True)
    if not all(ended.was_reachable for ended in endings):
        for sentence in remote_command_text.describe_unready_tpus(client, chosen):
            for line in wrap(escape_text(sentence)):
                click.echo(line, err=True)
    if signals:
        return ExitCode.INTERRUPTED if signals[0] == 2 else ExitCode.TERMINATED  # SIGINT
    return remote_command.worst_exit_code(endings)


def _summary(endings: Sequence[WorkerEnded], seconds: float, folder: Path) -> Iterator[str]:
    yield remote_command_text.summarize_endings(endings, seconds)
    for way, fixes in remote_command_text.group_failures(endings):
        yield from wrap(escape_text(way))
        for fix in fixes:
            if known_failures.is_fix_command(fix):
                yield f"  $ {escape_text(fix)}"  # on one line, so that it can be copied
            else:
                yield from wrap(escape_text(fix), "  - ", "    ")
    if any(ended.cut_short for ended in endings):
        yield from wrap(remote_command_text.STILL_RUNNING)
    for ended in endings:
        if ended.left_out:
            yield f"{ended.command.label}: {ended.left_out} bytes are not in its file"
    yield f"output of each worker: {escape_text(str(folder))}"

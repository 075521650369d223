"""`tpustarter tpu run`: one command on one or all workers of a TPU."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from tpustarter.cli.endings import stopped_by_signals
from tpustarter.cli.tpu_parts import command_lines, common_options, connect, place
from tpustarter.cloud import (
    connecting,
    places,
    remote,
    remote_words,
    request,
    worker_output,
    workers,
)
from tpustarter.cloud.client import Client
from tpustarter.cloud.places import Project
from tpustarter.cloud.remote import Ended, Job, Output, Remote
from tpustarter.cloud.resources import Node
from tpustarter.cloud.workers import Choice, Worker
from tpustarter.explain import known
from tpustarter.problem import ExitCode
from tpustarter.terminal import visible, wrap


@click.command(
    "run",
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
    "--timeout", "timeout_s", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
    help="End the command on every worker after this time.",
)  # fmt: skip
@common_options()
def run_command(*, name: str, words: tuple[str, ...], **options: Any) -> None:
    """Run a command on one worker of a TPU, or on all of them at the same time.

    If COMMAND is one word, the shell of the worker gets it as it is. Several words are quoted, so
    that they arrive as you typed them. Each line of output names its worker, and the output of each
    worker is saved in a file. The exit code is the worst one of all workers, and 255 means that a
    worker could not be reached.
    """
    choice = workers.parse_choice(options["worker"])
    user = connecting.check_user(options["user"])
    project = place(options["project"], dry_run=options["dry_run"])
    zone = places.zone(options["zone"])
    text = connecting.remote_text(words)

    def command(worker: Worker) -> tuple[str, ...]:
        iap = options["iap"] or worker.needs_iap
        if options["via"] == "ssh":
            return connecting.ssh_command(worker, text, iap=iap, user=user)
        return connecting.gcloud_command(worker, project, text, iap=iap, user=user)

    if options["dry_run"]:
        _show_what_would_run(request.check_name(name), zone, project, choice, command)
        return
    path = remote.program(options["via"])
    client = connect(project)
    nodes = workers.find(client, name, zone)
    chosen = workers.of_nodes(nodes, choice)
    remote_words.refuse_without_way(chosen, options["via"], iap=options["iap"])
    _announce(chosen, nodes, command)
    jobs = [Job(worker.label, (path, *command(worker)[1:])) for worker in chosen]
    folder = worker_output.make_folder(nodes[0].name)
    sys.exit(_run(client, chosen, Remote(jobs, folder, timeout_s=options["timeout_s"]), folder))


def _show_what_would_run(
    name: str, zone: str | None, project: Project, choice: Choice, command: Any
) -> None:
    """Print the command without asking Google, so that addresses are not known."""
    number = choice[0] if choice else 0
    addresses = ("EXTERNAL_ADDRESS",) * (number + 1)
    node = Node(project.name, zone or "ZONE", name, "", "READY",
                workers=number + 1, external_addresses=addresses)  # fmt: skip
    for line in command_lines(command(Worker(node, number, f"w{number}"))):
        click.echo(visible(line))
    if choice is None or choice[1:]:
        which = "every further worker"
        if choice:
            which = remote_words.of_labels([f"w{other}" for other in choice[1:]])
        for line in wrap(
            f"The same is run for {which}. {remote.CONNECTING} are connected at a "
            "time, and all that are connected run side by side."
        ):
            click.echo(line)
    click.echo("Nothing was run.")


def _announce(chosen: Sequence[Worker], nodes: Sequence[Node], command: Any) -> None:
    """Say on stderr what is about to run."""
    for line in command_lines(command(chosen[0])):
        click.echo(visible(line), err=True)
    if others := remote_words.of_others(chosen, nodes):
        click.echo(others, err=True)
    for caution in remote_words.cautions(chosen, nodes):
        for line in wrap(visible(caution)):
            click.echo(line, err=True)


def _run(client: Client, chosen: Sequence[Worker], job: Remote, folder: Path) -> int:
    """Run it all, show it as it happens, and return the exit code."""
    began = time.monotonic()
    signals: list[int] = []
    endings: list[Ended] = []

    def stop(number: int) -> None:
        signals.append(number)
        job.stop()

    with stopped_by_signals(stop), contextlib.closing(job.events()) as happening:
        for event in happening:
            if isinstance(event, Ended):
                endings.append(event)
            else:
                _show_lines(event)
    endings.sort(key=lambda ended: remote_words.natural(ended.job.label))
    for line in _summary(endings, time.monotonic() - began, folder):
        click.echo(line, err=True)
    if not all(ended.reached for ended in endings):
        for sentence in remote_words.what_became(client, chosen):
            for line in wrap(visible(sentence)):
                click.echo(line, err=True)
    if signals:
        return ExitCode.INTERRUPTED if signals[0] == 2 else ExitCode.TERMINATED  # SIGINT
    return remote.exit_code(endings)


def _show_lines(output: Output) -> None:
    """Print what a worker wrote on the stream that it wrote to."""
    stream = sys.stdout if output.stream == "stdout" else sys.stderr
    lines = output.lines
    if stream.isatty():  # what a worker writes must not steer this terminal
        lines = tuple(visible(line.expandtabs()) for line in lines)
    label = output.job.label
    stream.write("".join(f"{label} | {line}\n" for line in lines))
    stream.flush()


def _summary(endings: Sequence[Ended], seconds: float, folder: Path) -> Iterator[str]:
    """Yield how it ended: first in one line, then each way in which it failed."""
    yield remote_words.count(endings, seconds)
    for way, fixes in remote_words.ways(endings):
        yield from wrap(visible(way))
        for fix in fixes:
            if known.is_command(fix):
                yield f"  $ {visible(fix)}"  # in one line, so that it can be copied
            else:
                yield from wrap(visible(fix), "  - ", "    ")
    if remote_words.was_cut_short(endings):
        yield from wrap(remote_words.STILL_RUNNING)
    for ended in endings:
        if ended.left_out:
            yield f"{ended.job.label}: {ended.left_out} bytes are not in its file"
    yield f"output of each worker: {visible(str(folder))}"

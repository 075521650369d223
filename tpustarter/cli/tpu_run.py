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
from tpustarter.cloud import connecting, failures, places, remote, request, worker_output, workers
from tpustarter.cloud.client import Client
from tpustarter.cloud.places import Project
from tpustarter.cloud.remote import Ended, Job, Output, Remote
from tpustarter.cloud.resources import Node
from tpustarter.cloud.workers import Choice, Worker
from tpustarter.problem import ExitCode, Problem
from tpustarter.terminal import visible, wrap

SHOWN_LABELS = 8
"""Workers that are named one by one where several ended the same way."""


@click.command(
    "run",
    epilog="Example: tpustarter tpu run bert --worker all -- python3 train.py",
)
@click.argument("name")
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND")
@click.option(
    "--worker", default="0", metavar="N|LIST|all", help="Such as 2, 0,3 or 1-3.  [default: 0]"
)
@click.option("--via", type=click.Choice(["gcloud", "ssh"]), default="gcloud", show_default=True)
@click.option("--iap", is_flag=True, help="Through Identity-Aware Proxy, also where not needed.")
@click.option("--user", metavar="NAME", help="Who to log in as.  [default: as gcloud does]")
@click.option(
    "--timeout", "timeout_s", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
    help="End what still runs after so long.",
)  # fmt: skip
@common_options()
def run_command(*, name: str, words: tuple[str, ...], **options: Any) -> None:
    """Run a command on one worker of a TPU, or on all of them at the same time.

    A command of one word is given to the worker's shell as it is; one of several words is quoted,
    so that it arrives as you typed it. Output is marked with its worker, and is kept in a file per
    worker. The exit code is the worst of all workers; 255 means that one was not reached.
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
    _refuse_without_way(chosen, options["via"], iap=options["iap"])
    _announce(chosen, nodes, command, choice)
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
            which = _named([f"w{other}" for other in choice[1:]])
        for line in wrap(
            f"The same is run for {which}. {remote.CONNECTING} are connected at a "
            "time, and all that are connected run side by side."
        ):
            click.echo(line)
    click.echo("Nothing was run.")


def _refuse_without_way(chosen: Sequence[Worker], via: str, *, iap: bool) -> None:
    """Raise Problem where the workers can't be connected to from this machine."""
    node = chosen[0].node
    if via == "ssh":
        if iap or any(worker.needs_iap for worker in chosen):
            remote.program("gcloud")  # the tunnel is gcloud's
        elif not all(worker.address for worker in chosen):
            raise Problem(
                f"Google lists no address for `{node.name}`",
                hint="leave `--via ssh` out: gcloud looks for itself",
                code=ExitCode.BUSY,
            )
    if connecting.key_file().exists() or (via == "gcloud" and len(chosen) == 1):
        return
    why = "with ssh alone" if via == "ssh" else "with several workers at a time"
    raise Problem(
        f"`{connecting.KEY}` is not there, and gcloud makes it only when it connects: {why} that "
        "does not work",
        hint=f"connect once with `{connecting.first_connection(node)}`",
        code=ExitCode.USAGE,
    )


def _announce(
    chosen: Sequence[Worker], nodes: Sequence[Node], command: Any, choice: Choice
) -> None:
    """Say on stderr what is about to run."""
    for line in command_lines(command(chosen[0])):
        click.echo(visible(line), err=True)
    if len(chosen) > 1:
        labels = _named([worker.label for worker in chosen[1:]])
        if choice is None and chosen[2:]:
            labels = f"{chosen[1].label} to {chosen[-1].label}"
        click.echo(f"and the same for {labels}", err=True)
    total = sum(max(1, node.workers) for node in nodes)
    if choice and total > len(chosen):
        text = (
            f"`{nodes[0].name}` has {total} workers, and this runs on {len(chosen)} of them; "
            "a program that uses the whole slice needs `--worker all`."
        )
        for line in wrap(text):
            click.echo(line, err=True)
    for node in nodes:
        if node.health not in ("", "HEALTHY"):
            click.echo(visible(f"Google says that `{node.name}` is {node.health}."), err=True)


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
    endings.sort(key=lambda ended: _natural(ended.job.label))
    for line in _summary(endings, time.monotonic() - began, folder):
        click.echo(line, err=True)
    if not all(ended.reached for ended in endings):
        for line in _say_what_became(client, chosen):
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
    good = [ended for ended in endings if ended.code == 0]
    noun = "worker" if len(endings) == 1 else "workers"
    yield f"{len(good)} of {len(endings)} {noun} ended with 0 in {seconds:.1f} s"
    ways: dict[str, list[Ended]] = {}
    for ended in endings:
        if ended.code:
            ways.setdefault(ended.what, []).append(ended)
    for what, same in ways.items():
        yield from wrap(visible(f"{_labels(same)} {what}"))
        for fix in same[0].fixes:
            if failures.is_command(fix):
                yield f"  $ {visible(fix)}"  # in one line, so that it can be copied
            else:
                yield from wrap(visible(fix), "  - ", "    ")
    if any(ended.what.startswith(("was stopped", "was ended at")) for ended in endings):
        yield from wrap(
            "The connections were ended. What was started on the workers may still run there, "
            "and then it still holds their chips."
        )
    for ended in endings:
        if ended.left_out:
            yield f"{ended.job.label}: {ended.left_out} bytes are not in its file"
    yield f"output of each worker: {visible(str(folder))}"


def _labels(endings: Sequence[Ended]) -> str:
    """Return the names of workers; of many the first, and how many there are."""
    return _named([ended.job.label for ended in endings])


def _named(names: Sequence[str]) -> str:
    """Return names; of many the first, and how many there are."""
    if len(names) <= SHOWN_LABELS:
        return ", ".join(names)
    return f"{', '.join(names[:SHOWN_LABELS])} and {len(names) - SHOWN_LABELS} more"


def _natural(label: str) -> tuple[str, int]:
    prefix, _, number = label.rpartition("w")
    return prefix, int(number)


def _say_what_became(client: Client, chosen: Sequence[Worker]) -> Iterator[str]:
    """Yield the state of TPUs that are not READY any more, once a worker was not reached."""
    for node in dict.fromkeys((one.node.zone, one.node.name) for one in chosen):
        with contextlib.suppress(Problem):
            now = client.node(*node)
            try:
                if now is None:
                    yield f"`{node[1]}` no longer exists."
                else:
                    workers.refuse_unready(now)
            except Problem as problem:
                yield from wrap(visible(f"{problem.what} {problem.hint or ''}"))

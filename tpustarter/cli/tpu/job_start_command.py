"""`tpustarter tpu job start`: sends a folder to all workers of a TPU, and starts a command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tpustarter.cli.echo import echo_lines
from tpustarter.cli.parameters import StrictCommand
from tpustarter.cli.tpu.job_connection import (
    TypedRoute,
    find_workers,
    make_placeholder,
    route_options,
)
from tpustarter.cli.tpu.job_end import follow_job
from tpustarter.cli.tpu.job_start import make_environment, start_job
from tpustarter.cli.tpu.options import (
    choose_project,
    command_lines,
    common_options,
    confirm,
    connect_to_google,
)
from tpustarter.cloud.api import gcloud_commands, project_and_zone
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import TpuNode
from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.billing import cost
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.cloud.jobs import (
    job_end,
    job_files,
    job_run,
    job_text,
    remote_command_text,
)
from tpustarter.cloud.jobs.job_files import JobFiles
from tpustarter.cloud.jobs.job_records import JobRecord
from tpustarter.cloud.jobs.job_run import TpuJob
from tpustarter.cloud.jobs.worker_calls import Route
from tpustarter.cloud.trc import grant as trc_grant
from tpustarter.setup.environment.setup_profiles import PROFILES
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text, wrap

PROFILE_NAMES = [name for name, profile in PROFILES.items() if profile.activated]
"""Set-up profiles whose environment programs can run in."""
NAME_WIDTH = 7


@dataclass(frozen=True)
class JobOptions:
    """The options of `tpustarter tpu job NAME`."""

    name: str
    words: tuple[str, ...]
    folder: Path
    include: tuple[str, ...]
    limit: int
    profile: str | None
    follow: bool
    fetch: tuple[str, ...]
    fetch_to: Path | None
    give_back: bool
    again: int | None
    yes: bool
    via: str | None
    iap: bool
    user: str | None
    project: str | None
    zone: str | None
    dry_run: bool

    @property
    def route(self) -> TypedRoute:
        """Return the connection options."""
        zone = project_and_zone.find_zone(self.zone)
        return TypedRoute(zone, self.via or "gcloud", self.iap, self.user)


@click.command(
    "start",
    cls=StrictCommand,
    short_help="Send a folder, and start a command on all workers.",
    epilog="Example: tpustarter tpu job bert --setup jax -- python train.py",
)
@click.argument("name")
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path(),
    metavar="PATH",
    help="The folder to send.  [default: this one]",
)
@click.option(
    "--include",
    multiple=True,
    metavar="PATTERN",
    help="Send these files although git ignores them, or they look like secrets. Repeat it for "
    "more.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 1 << 20),
    default=job_files.MAX_BYTES >> 20,
    metavar="MIB",
    help=f"The largest size of what is sent.  [default: {job_files.MAX_BYTES >> 20}]",
)
@click.option(
    "--setup",
    "profile",
    type=click.Choice(PROFILE_NAMES),
    help="Make this environment on every worker, or check it, and run the command in it.",
)
@click.option("-f", "--follow", is_flag=True, help="Show the logs until the job ends.")
@click.option(
    "--fetch",
    multiple=True,
    metavar="PATTERN",
    help="Fetch these results at the end, such as 'out/**'. Repeat it for more. Follows the job.",
)
@click.option(
    "--fetch-to",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Where to put them.  [default: a folder called like the job]",
)
@click.option(
    "--give-back",
    is_flag=True,
    help="Delete the TPU once the job has ended or failed, and its results are here. Follows it.",
)
@route_options
@common_options()
@click.option(
    "--again",
    type=click.IntRange(1, 100),
    metavar="N",
    help="After a pre-emption, ask for the TPU anew and start the job again, N times at most. "
    "Follows it.",
)
@click.option(
    "--yes", is_flag=True, help="Don't ask me to type the name with --give-back and --again."
)
def start_command(**typed: Any) -> None:  # with the options' types
    """Send a folder to all workers of the TPU NAME, and start COMMAND there on all of them.

    Of a git repository, the tracked files go, and the untracked ones that git does not ignore; what
    is left out is shown. One word is a command for the shell, and several words arrive as you typed
    them. systemd or tmux keeps the command running on the workers.

    The exit code is 0 once the command runs, and with --follow that of the worst worker.
    """
    options = JobOptions(**typed)
    worker_connection.check_user(options.user)
    tpu_request.validate_tpu_name(options.name)
    files = job_files.find_job_files(options.folder, options.include)
    job_files.require_size(files, options.limit << 20)
    project = choose_project(options.project, dry_run=options.dry_run)
    if options.dry_run:
        _show_what_would_be_sent(options, files, project)
        return
    client = connect_to_google(project)
    workers, route = find_workers(client, project, options.name, options.route)
    _announce(options, files, workers, route)
    for caution in remote_command_text.list_warnings(workers, [one.node for one in workers[:1]]):
        for line in wrap(escape_text(caution)):
            click.echo(line, err=True)
    record = _make_record(options, workers)
    job = TpuJob(record, workers, route)
    job_run.require_no_running_job(job)
    if options.again:
        job_end.find_request(client, job)
    if options.give_back or options.again:
        question = f"This deletes the TPU as shown, with its disks. To start, type `{options.name}`"
        confirm(question, options.name, "--yes", yes=options.yes)
    job.pack(files)
    start_job(job, make_environment(options.profile))
    if options.follow or options.fetch or options.give_back or options.again:
        sys.exit(follow_job(client, project, job))
    click.echo("")
    for use, command in (
        ("Follow it", f"logs -f {options.name}"),
        ("End it", f"stop {options.name}"),
        ("Get results", f"fetch {options.name} 'PATTERN'"),
    ):
        echo_lines(f"{use}:".ljust(13) + f"tpustarter tpu job {command}")


def _show_what_would_be_sent(options: JobOptions, files: JobFiles, project: Project) -> None:
    """Print the plan without querying Google, so the addresses are placeholders."""
    worker = make_placeholder(options.name, project, options.route)
    _announce(options, files, [worker], options.route.make_route(project))
    if options.give_back:
        click.echo("Once it has ended, and its results are here:")
        zone = worker.node.zone
        delete = gcloud_commands.build_delete_command(zone, options.name, project, force=True)
        for line in command_lines(delete):
            click.echo(escape_text(line))
    click.echo("Nothing was sent.")


def _make_record(options: JobOptions, workers: Sequence[Worker]) -> JobRecord:
    began, node = job_text.now(), workers[0].node
    id_ = f"{options.name}-{began:%Y%m%d-%H%M%S}"
    follows = options.fetch or options.give_back
    return JobRecord(
        id=id_,
        project=node.project,
        zone=node.zone,
        tpu=options.name,
        command=options.words,
        workers=tuple(worker.label for worker in workers),
        created=node.created.isoformat() if node.created else "",
        began=began.isoformat(timespec="seconds"),
        via=options.via or "gcloud",
        iap=options.iap,
        user=options.user,
        give_back=options.give_back,
        profile=options.profile,
        again=options.again or 0,
        fetch=options.fetch,
        fetch_to=str((options.fetch_to or Path(id_)).absolute()) if follows else "",
    )


def _announce(
    options: JobOptions, files: JobFiles, workers: Sequence[Worker], route: Route
) -> None:
    """Print a new job's files, workers, command and cost."""
    node = workers[0].node
    where = f"{options.name}, {node.zone}"
    rows = [("sends", line) for line in job_text.describe_files(files)]
    where = f"{where}: {phrases.format_count(len(workers), 'worker')}"
    rows += [("to", "every worker of " + options.name if options.dry_run else where)]
    if one := make_environment(options.profile):
        rows.append(("sets up", f"{' '.join(one.wheel)} in ~/{one.folder}, or finds it there"))
    rows.append(("runs", job_text.format_command(options.words)))
    if not options.dry_run:
        rows.append(("costs", _describe_cost([worker.node for worker in workers])))
    if options.fetch:
        rows.append(("fetches", ", ".join(options.fetch)))
    if options.give_back:
        rows.append(("deletes", f"{options.name}, at the end"))
    if options.again:
        times = phrases.format_count(options.again, "time")
        rows.append(
            ("again", f"deletes {options.name} and asks for it anew after a pre-emption, {times}")
        )
    last = ""
    is_error = not options.dry_run  # stdout is for the logs
    for name, text in rows:
        shown = "" if name == last else name
        last = name
        for line in wrap(escape_text(text), shown.ljust(NAME_WIDTH + 2), " " * (NAME_WIDTH + 2)):
            click.echo(line, err=is_error)
    click.echo("", err=is_error)
    click.echo("Every call of a worker is this command, with the rest on its stdin:", err=is_error)
    for line in command_lines(route.command(workers[0])):
        click.echo(escape_text(line), err=is_error)


def _describe_cost(nodes: Sequence[TpuNode]) -> str:
    unique = list(dict.fromkeys(nodes))
    estimates = cost.estimate_costs(unique, job_text.now(), trc_grant.find_grant())
    known = [one.usd_per_hour for one in estimates if one.usd_per_hour is not None]
    if len(known) < len(unique):
        return "a price that is not known here; `tpustarter tpu cost` says why"
    if not sum(known):
        return "nothing for chips, which the TRC grant covers"
    return f"at most {sum(known):,.2f} USD for chips with every hour until the TPU is deleted"

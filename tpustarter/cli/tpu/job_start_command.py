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
from tpustarter.cli.tpu.job_events import follow_and_finish_job, start_job
from tpustarter.cli.tpu.options import (
    choose_project,
    command_lines,
    common_options,
    connection_options,
    make_google_client,
    require_typed_text,
)
from tpustarter.cloud.api import gcloud_commands, project_and_zone
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.billing import ledger
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.cloud.jobs import (
    job_connection,
    job_end,
    job_files,
    job_handover,
    job_run,
    job_start,
    job_text,
    remote_command_text,
)
from tpustarter.cloud.jobs.job_connection import TypedConnection
from tpustarter.cloud.jobs.job_files import JobFiles
from tpustarter.cloud.jobs.job_handover import HandedJob
from tpustarter.cloud.jobs.job_run import TpuJob
from tpustarter.cloud.jobs.job_start import JobRequest
from tpustarter.cloud.jobs.worker_calls import ConnectionSettings
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.setup.environment.worker_environment import PROFILE_NAMES, make_worker_environment
from tpustarter.text.terminal import escape_text, wrap

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
    tool: str | None
    type_name: str | None

    @property
    def route(self) -> TypedConnection:
        """Return the connection options."""
        zone = project_and_zone.find_zone(self.zone)
        return TypedConnection(zone, self.via or "gcloud", self.iap, self.user)

    @property
    def order(self) -> JobRequest:
        """Return the job."""
        return JobRequest(
            self.name,
            self.words,
            self.profile,
            self.fetch,
            self.fetch_to,
            self.give_back,
            self.again or 0,
        )


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
@connection_options
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
@click.option(
    "--print",
    "tool",
    type=click.Choice([*job_handover.TOOLS]),
    help="Print the same job for another tool, which gets a TPU of its own. Sends nothing.",
)
@click.option(
    "--type",
    "type_name",
    metavar="TYPE",
    help="With --print, the type of that TPU.  [default: the one of NAME]",
)
def start_command(**typed: Any) -> None:  # with the options' types
    """Send a folder to all workers of the TPU NAME, and start COMMAND there on all of them.

    Of a git repository, the tracked files go, and the untracked ones that git does not ignore; what
    is left out is shown. One word is a command for the shell, and several words arrive as you typed
    them. systemd or tmux keeps the command running on the workers.

    The exit code is 0 once the command runs, and with --follow that of the worst worker.
    """
    options = JobOptions(**typed)
    worker_connection.validate_user(options.user)
    tpu_request.validate_tpu_name(options.name)
    files = job_files.find_job_files(options.folder, options.include)
    job_files.require_size_within_limit(files, options.limit << 20)
    project = choose_project(options.project, dry_run=options.dry_run or bool(options.tool))
    if options.tool:
        click.echo(
            job_handover.format_handover(options.tool, _describe(options, files, project)), nl=False
        )
        return
    if options.dry_run:
        _show_what_would_be_sent(options, files, project)
        return
    client = make_google_client(project)
    workers, route = job_connection.find_workers(client, project, options.name, options.route)
    _announce(options, files, workers, route)
    for caution in remote_command_text.list_warnings(workers):
        for line in wrap(escape_text(caution)):
            click.echo(line, err=True)
    job = TpuJob(job_start.make_record(options.order, workers, route), workers, route)
    job_run.require_no_running_job(job)
    if options.again:
        job_end.save_tpu_request(client, job)
    if options.give_back or options.again:
        question = f"This deletes the TPU as shown, with its disks. To start, type `{options.name}`"
        require_typed_text(question, options.name, "--yes", yes=options.yes)
    job.pack(files)
    start_job(client, project, job, make_worker_environment(options.profile))
    if options.follow or options.fetch or options.give_back or options.again:
        sys.exit(follow_and_finish_job(client, project, job))
    click.echo("")
    for use, command in (
        ("Follow it", f"logs -f {options.name}"),
        ("End it", f"stop {options.name}"),
        ("Get results", f"fetch {options.name} 'PATTERN'"),
    ):
        echo_lines(f"{use}:".ljust(13) + f"tpustarter tpu job {command}")


def _describe(options: JobOptions, files: JobFiles, project: Project) -> HandedJob:
    """Return the job for another tool, for a TPU like the one in the ledger or as typed."""
    entry = next(iter(ledger.find_ledger_entries(project.name, options.name)), None)
    if options.type_name is None and entry is None:
        raise Problem(
            f"the type of `{options.name}` is not known here, and nothing is sent to ask for it",
            hint="add `--type TYPE`, such as `--type v6e-8`",
            code=ExitCode.USAGE,
        )
    type_name = options.type_name or (entry.type if entry else "")
    return HandedJob(
        options.order,
        files,
        make_worker_environment(options.profile),
        tpu_request.parse_type(type_name),
        project.name,
        project_and_zone.find_zone(options.zone) or (entry.zone if entry else ""),
        is_spot=bool(options.again) or (entry is not None and entry.tier == "spot"),
        slices=len(entry.nodes) or 1 if entry and not options.type_name else 1,
    )


def _show_what_would_be_sent(options: JobOptions, files: JobFiles, project: Project) -> None:
    """Print the plan without querying Google, so the addresses are placeholders."""
    worker = job_connection.make_placeholder_worker(options.name, project, options.route)
    _announce(options, files, [worker], options.route.make_route(project))
    if options.give_back:
        click.echo("Once it has ended, and its results are here:")
        zone = worker.node.zone
        delete = gcloud_commands.build_delete_command(zone, options.name, project, force=True)
        for line in command_lines(delete):
            click.echo(escape_text(line))
    click.echo("Nothing was sent.")


def _announce(
    options: JobOptions, files: JobFiles, workers: Sequence[Worker], route: ConnectionSettings
) -> None:
    """Print the files, workers, command and cost of the job."""
    rows = [("sends", line) for line in job_text.describe_files(files)]
    known = () if options.dry_run else workers
    rows.append(("to", job_text.describe_workers(options.name, known)))
    if one := make_worker_environment(options.profile):
        rows.append(("sets up", job_text.describe_environment(one)))
    rows.append(("runs", worker_connection.quote_command(options.words)))
    if not options.dry_run:
        rows.append(("costs", job_text.describe_cost([worker.node for worker in workers])))
    if options.fetch:
        rows.append(("fetches", ", ".join(options.fetch)))
    if options.give_back:
        rows.append(("deletes", f"{options.name}, at the end"))
    if options.again:
        rows.append(("again", job_text.describe_recreation(options.name, options.again)))
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

"""`tpustarter tpu job`: a command that runs on all workers of a TPU, and its logs and results."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from tpustarter.cli.command_end import print_errors_as_json, print_result
from tpustarter.cli.echo import echo_lines
from tpustarter.cli.parameters import StrictCommand
from tpustarter.cli.tpu.job_events import (
    fetch_results,
    follow_to_end,
    print_log_lines,
    print_states,
    start_job,
)
from tpustarter.cli.tpu.options import (
    choose_project,
    command_lines,
    common_options,
    confirm,
    connect_to_google,
    print_dry_run_json,
)
from tpustarter.cloud.api import gcloud_commands, project_and_zone
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.resources import TpuNode
from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.create import tpu_request
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.cloud.jobs import (
    job_connection,
    job_end,
    job_files,
    job_records,
    job_run,
    job_start,
    job_text,
    remote_command_text,
    worker_calls,
)
from tpustarter.cloud.jobs.job_connection import JobList, ListedJob, TypedRoute
from tpustarter.cloud.jobs.job_files import JobFiles
from tpustarter.cloud.jobs.job_run import TpuJob
from tpustarter.cloud.jobs.job_start import JobOrder
from tpustarter.cloud.jobs.worker_calls import Route
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.core.redact import Redactor
from tpustarter.core.short_ids import find_nearest
from tpustarter.setup.environment.worker_environment import PROFILE_NAMES, make_environment
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text, wrap

SCHEMA = "tpustarter.jobs/1"
NAME_WIDTH = 7

_Function = TypeVar("_Function", bound=Callable[..., object])


def route_options(function: _Function) -> _Function:
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


class _JobGroup(click.Group):
    """The verbs of a job; a word that is none of them is the TPU of a new job."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.commands:
            near = find_nearest(args[0], self.commands)
            if near and "--" not in args:
                with print_errors_as_json(SCHEMA, wanted="--json" in args):
                    raise Problem(
                        f"there is no command `tpu job {args[0]}`",
                        hint=f"did you mean `tpustarter tpu job {near[0]}`?",
                        code=ExitCode.USAGE,
                    )
            args = ["start", *args]
        return super().resolve_command(ctx, args)


@click.group(
    "job",
    cls=_JobGroup,
    short_help="Run a command on all workers that goes on without a connection.",
    epilog="Example: tpustarter tpu job bert --follow -- python3 train.py",
)
def job_command() -> None:
    """Send a folder to all workers of a TPU, and run a command there that needs no connection.

    `tpustarter tpu job NAME -- COMMAND` starts it on the TPU called NAME, which is short for
    `tpustarter tpu job start NAME -- COMMAND`. The command goes on when you close the laptop, and
    its logs are kept on the workers. `tpustarter learn slices/run-everywhere` says when SkyPilot,
    Kinetic or gcluster suits better.
    """


@dataclass(frozen=True)
class JobOptions:
    """The command line of `tpustarter tpu job NAME`."""

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
        """Return the options about the way to the workers."""
        zone = project_and_zone.find_zone(self.zone)
        return TypedRoute(zone, self.via or "gcloud", self.iap, self.user)

    @property
    def order(self) -> JobOrder:
        """Return the job."""
        return JobOrder(
            self.name,
            self.words,
            self.profile,
            self.fetch,
            self.fetch_to,
            self.give_back,
            self.again or 0,
        )


@job_command.command(
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
def start_command(**typed: Any) -> None:
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
    workers, route = job_connection.find_workers(client, project, options.name, options.route)
    _announce(options, files, workers, route)
    for caution in remote_command_text.list_warnings(workers, [one.node for one in workers[:1]]):
        for line in wrap(escape_text(caution)):
            click.echo(line, err=True)
    job = TpuJob(job_start.make_record(options.order, workers, route), workers, route)
    job_run.require_no_running_job(job)
    if options.again:
        job_end.find_request(client, job)
    if options.give_back or options.again:
        question = f"This deletes the TPU as shown, with its disks. To start, type `{options.name}`"
        confirm(question, options.name, "--yes", yes=options.yes)
    job.pack(files)
    start_job(job, make_environment(options.profile))
    if options.follow or options.fetch or options.give_back or options.again:
        sys.exit(follow_to_end(client, project, job))
    click.echo("")
    for use, command in (
        ("Follow it", f"logs -f {options.name}"),
        ("End it", f"stop {options.name}"),
        ("Get results", f"fetch {options.name} 'PATTERN'"),
    ):
        echo_lines(f"{use}:".ljust(13) + f"tpustarter tpu job {command}")


def _show_what_would_be_sent(options: JobOptions, files: JobFiles, project: Project) -> None:
    """Print the plan without asking Google, so the addresses are placeholders."""
    worker = _make_placeholder(options.name, project, options.route)
    _announce(options, files, [worker], options.route.make_route(project))
    if options.give_back:
        click.echo("Once it has ended, and its results are here:")
        zone = worker.node.zone
        delete = gcloud_commands.build_delete_command(zone, options.name, project, force=True)
        for line in command_lines(delete):
            click.echo(escape_text(line))
    click.echo("Nothing was sent.")


def _make_placeholder(name: str, project: Project, typed: TypedRoute) -> Worker:
    """Return the first worker of a TPU whose address is not known."""
    zone = project_and_zone.find_zone(typed.zone) or "ZONE"
    addresses = ("EXTERNAL_ADDRESS",)
    node = TpuNode(project.name, zone, name, "", "READY", workers=1, external_addresses=addresses)
    return Worker(node, 0, "w0")


def _announce(
    options: JobOptions, files: JobFiles, workers: Sequence[Worker], route: Route
) -> None:
    """Print what is sent, where, what runs there, and what it costs."""
    rows = [("sends", line) for line in job_text.describe_files(files)]
    known = () if options.dry_run else workers
    rows.append(("to", job_text.describe_target(options.name, known)))
    if one := make_environment(options.profile):
        rows.append(("sets up", job_text.describe_environment(one)))
    rows.append(("runs", job_text.format_command(options.words)))
    if not options.dry_run:
        rows.append(("costs", job_text.describe_cost([worker.node for worker in workers])))
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


@job_command.command(
    "list",
    cls=StrictCommand,
    short_help="List the jobs on your TPUs, as their workers know them.",
    epilog="Example: tpustarter tpu job list",
)
@click.argument("name", required=False)
@route_options
@common_options()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_command(
    *,
    name: str | None,
    project: str | None,
    zone: str | None,
    dry_run: bool,
    as_json: bool,
    **route: Any,
) -> None:
    """List the jobs of one TPU or of all, as their workers know them, and those known here.

    The workers are asked, so jobs that were started from another machine are in the list as well.
    """
    with print_errors_as_json(SCHEMA, wanted=as_json):
        where = choose_project(project, dry_run=dry_run)
        if dry_run:
            command = gcloud_commands.build_list_command("tpu-vm", zone or "-", where)
            if as_json:
                print_dry_run_json([" ".join(command)], SCHEMA)
                return
            for line in command_lines(command):
                click.echo(escape_text(line))
            click.echo("Then every worker is asked. Nothing was sent.")
            return
        client = connect_to_google(where)
        found = job_connection.list_jobs(client, where, name, TypedRoute(zone, **route))
        if as_json:
            jobs = [Redactor(os.environ).redact_value(_describe_job(one)) for one in found.jobs]
            unreached = list(found.unreached)
            print_result(
                {"schema": SCHEMA, "jobs": jobs, "unreached": unreached, "exit_code": ExitCode.OK}
            )
            return
        _print_jobs(found)


def _describe_job(job: ListedJob) -> dict[str, object]:
    return {
        "id": job.record.id,
        "tpu": job.record.tpu,
        "zone": job.record.zone,
        "command": list(job.record.command),
        "words": job.words(job_text.now()),
        "workers": [
            {
                "worker": one.worker,
                "state": one.state,
                "code": one.code,
                "began": one.began,
                "ended": one.ended,
                "log_bytes": one.log_bytes,
            }
            for one in job.states
        ],
    }


def _print_jobs(found: JobList) -> None:
    for job in found.jobs:
        record = job.record
        command = job_text.format_command(record.command)
        click.echo(escape_text(f"{record.id}  {record.zone}  {command}"))
        for line in job.words(job_text.now()):
            echo_lines(wrap(escape_text(line), " " * 6))
    if not found.jobs:
        click.echo("No job is known, neither here nor on a TPU that was reached.")
    for line in found.unreached:
        echo_lines(wrap(escape_text(line)))


@job_command.command(
    "logs",
    cls=StrictCommand,
    short_help="Show the logs of all workers, each line with its worker.",
    epilog="Example: tpustarter tpu job logs -f bert",
)
@click.argument("name")
@click.option("-f", "--follow", is_flag=True, help="Go on until the job ends.")
@click.option("--job", "id_", metavar="ID", help="The job.  [default: the last one on the TPU]")
@route_options
@common_options()
def logs_command(
    *,
    name: str,
    follow: bool,
    id_: str | None,
    project: str | None,
    dry_run: bool,
    **where: Any,
) -> None:
    """Show the logs of all workers in one stream, each line with its worker.

    They are kept here as well, so they can be read when the TPU is gone: those of the last 100
    jobs, and of each one that is not over. With --follow, a connection that was lost is made again,
    and the log is continued where it was left. What the job was started with, --fetch and
    --give-back, is done at its end. The exit code is then that of the worst worker.
    """
    named = choose_project(project, dry_run=dry_run)
    if dry_run:
        _show_one_call(name, named, TypedRoute(**where))
        return
    client = connect_to_google(named)
    job = job_connection.open_job(client, named, name, id_, TypedRoute(**where))
    if not job.workers:
        for log, label in zip(job.record.logs, job.record.workers, strict=True):
            for lines in job_records.read_log_lines(log):
                print_log_lines(label, lines)
        echo_lines(wrap(f"`{name}` is not there any more; these are the logs that are here."))
        return
    code = follow_to_end(client, named, job, until_end=follow)
    sys.exit(code if follow else 0)


@job_command.command(
    "stop",
    cls=StrictCommand,
    short_help="End the command on all workers.",
    epilog="Example: tpustarter tpu job stop bert",
)
@click.argument("name")
@click.option("--job", "id_", metavar="ID", help="The job.  [default: the last one on the TPU]")
@route_options
@common_options()
def stop_command(
    *, name: str, id_: str | None, project: str | None, dry_run: bool, **where: Any
) -> None:
    """End the command on all workers, with everything that it has started.

    The TPU stays, and is billed until you delete it.
    """
    named = choose_project(project, dry_run=dry_run)
    if dry_run:
        _show_one_call(name, named, TypedRoute(**where))
        return
    client = connect_to_google(named)
    job = job_connection.open_reachable_job(client, named, name, id_, TypedRoute(**where))
    states = job.end()
    job_run.save_end(job.record, states)
    print_states(states)
    echo_lines(wrap(f"`{name}` stays: `tpustarter tpu delete {name}` gives it back."))


@job_command.command(
    "fetch",
    cls=StrictCommand,
    short_help="Fetch results from all workers.",
    epilog="Example: tpustarter tpu job fetch bert 'checkpoints/**'",
)
@click.argument("name")
@click.argument("patterns", nargs=-1, required=True, metavar="PATTERN...")
@click.option("--job", "id_", metavar="ID", help="The job.  [default: the last one on the TPU]")
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Where to put them.  [default: a folder called like the job]",
)
@route_options
@common_options()
def fetch_command(
    *,
    name: str,
    patterns: tuple[str, ...],
    id_: str | None,
    to: Path | None,
    project: str | None,
    dry_run: bool,
    **where: Any,
) -> None:
    """Fetch the files that match patterns, from the folder of the job on every worker.

    Each worker's files go into a folder of their own, and each file has the same hash here as
    there. A running job can be fetched from, too.
    """
    named = choose_project(project, dry_run=dry_run)
    if dry_run:
        _show_one_call(name, named, TypedRoute(**where))
        return
    client = connect_to_google(named)
    job = job_connection.open_reachable_job(client, named, name, id_, TypedRoute(**where))
    target = to or Path(job.record.id)
    if not fetch_results(job, patterns, target):
        raise Problem(
            f"no file of `{job.record.id}` matches {phrases.join_words(patterns, 'or')}",
            hint=f"`tpustarter tpu run {name} -- ls {worker_calls.CODE.format(job.record.id)}` "
            "shows what is there",
            code=ExitCode.FAILED,
        )


def _show_one_call(name: str, project: Project, typed: TypedRoute) -> None:
    """Print the command that each worker would be called with."""
    command = typed.make_route(project).command(_make_placeholder(name, project, typed))
    for line in command_lines(command):
        click.echo(escape_text(line))
    click.echo("The same for every worker, with the rest on its stdin. Nothing was sent.")

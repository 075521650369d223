"""`tpustarter tpu job`: a command that runs on all workers of a TPU, and its logs and results."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click

from tpustarter.cli.command_end import print_errors_as_json, print_result
from tpustarter.cli.echo import echo_lines, echo_rows
from tpustarter.cli.parameters import StrictCommand
from tpustarter.cli.tpu.job_events import fetch_results, follow_and_finish_job, print_states
from tpustarter.cli.tpu.job_start_command import start_command
from tpustarter.cli.tpu.options import (
    choose_project,
    command_lines,
    common_options,
    connection_options,
    make_google_client,
    print_dry_run_json,
    print_worker_lines,
)
from tpustarter.cloud.api import gcloud_commands
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.cloud.jobs import job_connection, job_records, job_run, worker_calls
from tpustarter.cloud.jobs.job_connection import JobList, ListedJob, TypedConnection
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.core.redact import Redactor
from tpustarter.core.short_ids import find_nearest
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text, wrap

if TYPE_CHECKING:
    from typing_extensions import Unpack

SCHEMA = "tpustarter.jobs/1"


class _ConnectionFields(TypedDict):
    """The values of `connection_options`, and the zone."""

    zone: str | None
    via: str | None
    iap: bool
    user: str | None


class _JobGroup(click.Group):
    """The subcommands of `tpu job`; any other first word is the TPU of a new job."""

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


job_command.add_command(start_command)


@job_command.command(
    "list",
    cls=StrictCommand,
    short_help="List the jobs on your TPUs, as their workers know them.",
    epilog="Example: tpustarter tpu job list",
)
@click.argument("name", required=False)
@connection_options
@common_options()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_command(
    *,
    name: str | None,
    project: str | None,
    dry_run: bool,
    as_json: bool,
    **route: Unpack[_ConnectionFields],
) -> None:
    """List the jobs of one TPU or of all, as their workers know them, and those known here.

    The workers are asked, so jobs that were started from another machine are in the list as well.
    """
    with print_errors_as_json(SCHEMA, wanted=as_json):
        where = choose_project(project, dry_run=dry_run)
        if dry_run:
            command = gcloud_commands.build_list_command("tpu-vm", route["zone"] or "-", where)
            if as_json:
                print_dry_run_json([" ".join(command)], SCHEMA)
                return
            for line in command_lines(command):
                click.echo(escape_text(line))
            click.echo("Then every worker is asked. Nothing was sent.")
            return
        client = make_google_client(where)
        found = job_connection.list_jobs(client, where, name, TypedConnection(**route))
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
        "words": job.words(),
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
        command = worker_connection.quote_command(record.command)
        echo_rows([escape_text(f"{record.id}  {record.zone}  {command}")])
        for line in job.words():
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
@connection_options
@common_options()
def logs_command(
    *,
    name: str,
    follow: bool,
    id_: str | None,
    project: str | None,
    dry_run: bool,
    **where: Unpack[_ConnectionFields],
) -> None:
    """Show the logs of all workers in one stream, each line with its worker.

    They are kept here as well, so they can be read when the TPU is gone: those of the last 100
    jobs, and of each one that is not over. With --follow, a connection that was lost is made again,
    and the log is continued where it was left. What the job was started with, --fetch and
    --give-back, is done at its end. The exit code is then that of the worst worker.
    """
    named = choose_project(project, dry_run=dry_run)
    if dry_run:
        _show_one_call(name, named, TypedConnection(**where))
        return
    client = make_google_client(named)
    job = job_connection.load_job(client, named, name, id_, TypedConnection(**where))
    if not job.workers:
        for log, label in zip(job.record.logs, job.record.workers, strict=True):
            for lines in job_records.read_log_lines(log):
                print_worker_lines(label, lines, sys.stdout)
        if follow and job.absence and not job.record.is_done:  # what is due at its end is not done
            raise job.absence
        why = f", because {job.absence.summary}" if job.absence else ""
        echo_lines(wrap(escape_text(f"These are the logs that are here{why}.")))
        return
    code = follow_and_finish_job(client, named, job, until_end=follow)
    sys.exit(code if follow else 0)


@job_command.command(
    "stop",
    cls=StrictCommand,
    short_help="End the command on all workers.",
    epilog="Example: tpustarter tpu job stop bert",
)
@click.argument("name")
@click.option("--job", "id_", metavar="ID", help="The job.  [default: the last one on the TPU]")
@connection_options
@common_options()
def stop_command(
    *,
    name: str,
    id_: str | None,
    project: str | None,
    dry_run: bool,
    **where: Unpack[_ConnectionFields],
) -> None:
    """End the command on all workers, with everything that it has started.

    The TPU stays, and is billed until you delete it.
    """
    named = choose_project(project, dry_run=dry_run)
    if dry_run:
        _show_one_call(name, named, TypedConnection(**where))
        return
    client = make_google_client(named)
    job = job_connection.load_reachable_job(client, named, name, id_, TypedConnection(**where))
    states = job.stop_command()
    job_run.save_job_end(job.record, states)
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
@connection_options
@common_options()
def fetch_command(
    *,
    name: str,
    patterns: tuple[str, ...],
    id_: str | None,
    to: Path | None,
    project: str | None,
    dry_run: bool,
    **where: Unpack[_ConnectionFields],
) -> None:
    """Fetch the files that match patterns, from the folder of the job on every worker.

    Each worker's files go into a folder of their own, and each file has the same hash here as
    there. A running job can be fetched from, too.
    """
    named = choose_project(project, dry_run=dry_run)
    if dry_run:
        _show_one_call(name, named, TypedConnection(**where))
        return
    client = make_google_client(named)
    job = job_connection.load_reachable_job(client, named, name, id_, TypedConnection(**where))
    target = to or Path(job.record.id)
    if not fetch_results(job, patterns, target):
        raise Problem(
            f"no file of `{job.record.id}` matches {phrases.join_words(patterns, 'or')}",
            hint=f"`tpustarter tpu run {name} -- ls {worker_calls.CODE.format(job.record.id)}` "
            "shows what is there",
            code=ExitCode.FAILED,
        )


def _show_one_call(name: str, project: Project, typed: TypedConnection) -> None:
    """Print the command that would call each worker."""
    command = typed.make_route(project).command(
        job_connection.make_placeholder_worker(name, project, typed)
    )
    for line in command_lines(command):
        click.echo(escape_text(line))
    click.echo("The same for every worker, with the rest on its stdin. Nothing was sent.")

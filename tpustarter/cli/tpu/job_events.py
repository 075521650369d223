"""Prints the events of a job: the workers' output on stdout, the job's states on stderr."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TypeVar

import click

from tpustarter.cli.command_end import format_path, stop_at_signals
from tpustarter.cli.echo import echo_lines
from tpustarter.cli.explain import explain_worker_logs
from tpustarter.cli.tpu.options import (
    command_lines,
    describe_event,
    end_wait_at_signals,
    print_worker_lines,
    show_each,
)
from tpustarter.cloud.api.api_client import OfferingClient
from tpustarter.cloud.api.clock import WallClock
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.jobs import job_completion, job_start, job_text
from tpustarter.cloud.jobs.job_completion import (
    JobEvent,
    LogsKept,
    ResultsFetched,
    StatesRead,
    TpuDeleted,
    TpuDeletionStarted,
    TpuRecreationStarted,
)
from tpustarter.cloud.jobs.job_results import FetchedFile
from tpustarter.cloud.jobs.job_run import (
    ConnectionChanged,
    SetupOutput,
    TpuJob,
    WorkerEnvironment,
    WorkerJobEnded,
    WorkerJobState,
    WorkerLogLines,
)
from tpustarter.cloud.jobs.job_start import FolderSent, JobBegun, StartEvent
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.setup.environment.worker_environment import make_worker_environment
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text, wrap

_Event = TypeVar("_Event")
_Result = TypeVar("_Result")


def print_states(states: Sequence[WorkerJobState]) -> None:
    """Print the job's states on its workers to stderr."""
    for line in job_text.group_states(states):
        _say(line)


def start_job(
    client: OfferingClient, project: Project, job: TpuJob, environment: WorkerEnvironment | None
) -> None:
    """Send the folder and start the command on all workers, or on none; raises Problem.

    If its TPU is pre-empted meanwhile, and the job is to be started again, request another one.
    """
    clock = WallClock(job.wait)
    while not _show(job, job_start.start_job(client, job, environment, clock), _print_start):
        _recreate_tpu(client, project, job)


def follow_and_finish_job(
    client: OfferingClient, project: Project, job: TpuJob, *, until_end: bool = True
) -> int:
    """Print a job's logs, then fetch its results and give its TPU back as requested.

    Returns the worst exit code of its workers.

    Raises:
        Problem: Following was stopped, or a step after the job's end failed.
    """
    while True:
        following = job_completion.follow_job(
            client, project, job, WallClock(job.wait), until_end=until_end
        )
        code = _show(job, following, _print_event)
        if code is not None:
            return code
        _recreate_tpu(client, project, job)
        start_job(client, project, job, make_worker_environment(job.record.profile))


def _recreate_tpu(client: OfferingClient, project: Project, job: TpuJob) -> None:
    tpu = job.record.tpu
    hint = f"`tpustarter tpu list` shows what is there of `{tpu}`; its job is not running"
    with end_wait_at_signals(hint):
        asking = job_completion.recreate_tpu(client, project, job, WallClock())
        show_each(asking, _print_event)


def fetch_results(job: TpuJob, patterns: Sequence[str], target: Path) -> int:
    """Fetch results and print their paths on stdout; returns their number. Raises Problem."""
    return show_each(job_completion.fetch_results(job, patterns, target), _print_event)


def _show(
    job: TpuJob, events: Generator[_Event, None, _Result], show: Callable[[_Event], None]
) -> _Result:
    """Print events until their end, or until a signal stops the job's calls."""
    signals: list[int] = []

    def stop(number: int) -> None:
        signals.append(number)
        job.cancel_calls()

    def show_step(event: _Event) -> None:
        if isinstance(
            event, TpuDeletionStarted
        ):  # a deletion takes minutes, and goes on without us
            hint = f"`tpustarter tpu list` shows whether `{job.record.tpu}` is still there"
            deleting.enter_context(end_wait_at_signals(hint))
        show(event)

    try:
        with stop_at_signals(stop), contextlib.ExitStack() as deleting:
            return show_each(events, show_step)
    except Problem as problem:
        if signals and signals[0] != 2:  # SIGINT
            problem.code = ExitCode.TERMINATED
        raise


def _say(text: str) -> None:
    for line in wrap(escape_text(text)):
        click.echo(line, err=True)


def _print_start(event: StartEvent) -> None:
    match event:
        case FolderSent(folder):
            click.echo(f"sent to {escape_text(folder)}", err=True)
        case SetupOutput(worker, text):
            for line in text.splitlines():
                click.echo(escape_text(f"{worker} | {line}"), err=True)
        case JobBegun(record, keepers):
            count = phrases.format_count(len(record.workers), "worker")
            kept = escape_text(phrases.join_words(keepers))
            click.echo(f"{record.id} runs on {count}, kept by {kept}", err=True)


def _print_event(event: JobEvent) -> None:
    match event:
        case WorkerLogLines(worker, lines):
            print_worker_lines(worker, lines, sys.stdout)
        case StatesRead(states):
            print_states(states)
        case LogsKept():
            _print_logs(event)
        case FetchedFile(path=path):
            click.echo(escape_text(str(path)))
        case ConnectionChanged() | ResultsFetched():
            for text in job_text.describe_job_event(event):
                _say(text)
        case TpuDeletionStarted() | TpuDeleted() | TpuRecreationStarted():
            for command in event.commands if isinstance(event, TpuDeletionStarted) else ():
                for line in command_lines(command):
                    click.echo(escape_text(line), err=True)
            for text in job_text.describe_job_event(event):
                echo_lines(wrap(escape_text(text)))
        case WorkerJobEnded():
            pass  # all states are printed at the end
        case _:
            echo_lines(describe_event(event))


def _print_logs(event: LogsKept) -> None:
    logs = event.record.logs
    for log in logs:
        click.echo(f"log: {format_path(log)}", err=True)
    if event.is_failed:
        click.echo("", err=True)
        click.echo(explain_worker_logs([str(log) for log in logs]), err=True)

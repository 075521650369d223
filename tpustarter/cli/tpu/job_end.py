"""Following a job to its end: its logs, its failure, its results, and the TPU's deletion."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from tpustarter.cli.command_end import format_path, stop_at_signals
from tpustarter.cli.echo import echo_lines
from tpustarter.cli.explain import explain_worker_logs
from tpustarter.cli.tpu.job_start import make_environment, start_job
from tpustarter.cli.tpu.options import command_lines, print_events
from tpustarter.cli.tpu.options import stop_at_signals as wait_until_signal
from tpustarter.cloud.api import workers
from tpustarter.cloud.api.api_client import OfferingClient
from tpustarter.cloud.api.clock import WallClock
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.create.tpu_creation import TpuCreation
from tpustarter.cloud.delete import removal
from tpustarter.cloud.jobs import job_end, job_run, job_text
from tpustarter.cloud.jobs.job_run import (
    Connection,
    FollowEvent,
    JobLogLines,
    TpuJob,
    WorkerJobState,
)
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text, wrap


def print_log_lines(label: str, lines: Sequence[str]) -> None:
    """Print a worker's lines on stdout, each with its label."""
    if not lines:
        return
    if sys.stdout.isatty():  # a worker's output must not control this terminal
        lines = [escape_text(line.expandtabs()) for line in lines]
    sys.stdout.write("".join(f"{label} | {line}\n" for line in lines))
    sys.stdout.flush()


def print_states(states: Sequence[WorkerJobState]) -> None:
    """Print the job's state on each worker, on stderr."""
    for line in job_text.group_states(states, job_text.now()):
        for row in wrap(escape_text(line)):
            click.echo(row, err=True)


def follow_job(
    client: OfferingClient, project: Project, job: TpuJob, *, until_end: bool = True
) -> int:
    """Show a job's logs, and carry out its end actions; return the worst worker's exit code.

    Raises:
        Problem: It was interrupted, or an end action failed.
    """
    while True:
        code = _follow_once(client, project, job, until_end=until_end)
        if code is not None:
            return code
        job = _start_again(client, project, job)


def _follow_once(
    client: OfferingClient, project: Project, job: TpuJob, *, until_end: bool
) -> int | None:
    """Follow a job to its end, and return its exit code, or None if it must be restarted."""
    signals: list[int] = []

    def stop(number: int) -> None:
        signals.append(number)
        job.stop_calls()

    with stop_at_signals(stop):
        states = _show(job, client, until_end=until_end)
        if signals:
            raise _make_interruption(job, signals[0])
        print_states(states)
        if not until_end:
            return 0
        code = job_run.UNREACHED
        if len(states) == len(job.workers) and all(one.state != "placed" for one in states):
            job.record = job_run.save_end(job.record, states)
            code = job_run.worst_code(states)
        is_again = job.record.again > 0 and job_end.is_pre_empted(client, job, states, WallClock())
        try:
            if not is_again:
                _end(client, project, job, states)
        except Problem:
            if not signals:
                raise
        if signals and job.record.phase != "given-back":
            raise _make_interruption(job, signals[0])
    return None if is_again else code


def _start_again(client: OfferingClient, project: Project, job: TpuJob) -> TpuJob:
    """Restart a job on a new TPU after a pre-emption; raises Problem."""
    record = job.record
    usd = job_end.estimate_spending([worker.node for worker in job.workers], job_text.now())
    request = job_end.find_request(client, job)
    for text in (
        job_end.describe_spending(record, usd),
        f"`{record.tpu}` is asked for anew; after that {record.again - 1} more times at most.",
    ):
        echo_lines(wrap(text))
    with wait_until_signal(
        f"`tpustarter tpu list` shows what is there of `{record.tpu}`; its job is not running"
    ):
        plan = job_end.find_deletion_plan(client, record)
        if plan and not print_events(removal.carry_out_plan(client, plan, WallClock())):
            raise Problem(f"`{record.tpu}` is still listed by Google", code=ExitCode.INCONCLUSIVE)
        print_events(TpuCreation(client, project, WallClock()).run([request]))
        new = workers.choose_workers(workers.find_nodes(client, record.tpu, record.zone))
        again = job_end.prepare_again(job, new)
        job_end.wait_until_reached(again, WallClock())
    start_job(again, make_environment(record.profile))
    return again


def _show(job: TpuJob, client: OfferingClient, *, until_end: bool) -> list[WorkerJobState]:
    happening = job.follow(client, until_end=until_end)
    while True:
        try:
            event = next(happening)
        except StopIteration as end:
            return end.value
        _show_event(event)


def _show_event(event: FollowEvent) -> None:
    if isinstance(event, JobLogLines):
        print_log_lines(event.worker, event.lines)
    elif isinstance(event, Connection):
        text = "is connected again"
        if event.lost:
            text = event.lost if event.is_final else f"{event.lost}; trying again"
        for line in wrap(escape_text(f"{event.worker} {text}")):
            click.echo(line, err=True)


def _make_interruption(job: TpuJob, number: int) -> Problem:
    name = job.record.tpu
    text = "stopped following"
    if job.record.give_back:
        text += f", so `{name}` is not given back now"
    return Problem(
        text,
        hint=f"the job goes on; `tpustarter tpu job logs -f {name}` follows it again, and does "
        "what is to be done at its end",
        code=ExitCode.INTERRUPTED if number == 2 else ExitCode.TERMINATED,  # SIGINT
    )


def _end(
    client: OfferingClient, project: Project, job: TpuJob, states: Sequence[WorkerJobState]
) -> None:
    """Explain a failure, fetch the results, and delete the TPU once they are safe."""
    record = job.record
    for log in record.logs:
        click.echo(f"log: {format_path(log)}", err=True)
    is_stopped = any(one.is_stopped for one in states)
    if record.code and not is_stopped:
        click.echo("", err=True)
        click.echo(explain_worker_logs([str(log) for log in record.logs]), err=True)
    fetched = 0
    reached = [one for one in states if one.state != "gone"]
    if record.fetch and reached:
        fetched = fetch_results(job, record.fetch, Path(record.fetch_to))
    if not record.give_back:
        return
    job_end.require_safe_results(record, states, fetched)
    plan = job_end.find_deletion_plan(client, record)
    for command in plan.commands(project) if plan else ():
        for line in command_lines(command):
            click.echo(escape_text(line), err=True)
    usd = job_end.estimate_spending([worker.node for worker in job.workers], job_text.now())
    echo_lines(wrap(job_end.describe_spending(record, usd)))
    job.record = print_events(job_end.give_back(client, record, plan, WallClock()))
    echo_lines(f"`{record.tpu}` was given back.")


def fetch_results(job: TpuJob, patterns: Sequence[str], target: Path) -> int:
    """Fetch results and print their paths on stdout; return their number. Raises Problem."""
    count = size = 0
    for one in job.fetch(patterns, target):
        click.echo(escape_text(str(one.path)))
        count += 1
        size += one.bytes
    files = phrases.format_count(count, "file")
    click.echo(f"{files} ({job_text.format_size(size)}) in {escape_text(str(target))}", err=True)
    return count

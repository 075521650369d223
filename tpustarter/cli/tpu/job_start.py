"""Starting a job on all workers, or on none."""

from __future__ import annotations

from dataclasses import replace

import click

from tpustarter.cli.command_end import stop_at_signals
from tpustarter.cloud.jobs import job_records
from tpustarter.cloud.jobs.job_run import Environment, TpuJob
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.setup.environment.setup_profiles import PROFILES
from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text


def make_environment(profile: str | None) -> Environment | None:
    """Return the environment that the workers create for a set-up profile, or None without one."""
    if profile is None:
        return None
    one = PROFILES[profile]
    wheel = tuple(one.tpu_wheel.split())
    return Environment(one.name, one.folder, wheel, one.packages, one.versions[0])


def start_job(job: TpuJob, environment: Environment | None) -> None:
    """Send the folder and start the command on all workers, or on none."""
    signals: list[int] = []
    keepers: list[str] = []
    is_begun = False

    def stop(number: int) -> None:
        signals.append(number)
        # A command that is still being started is ended once its workers are known.
        if not is_begun or len(signals) > 1:
            job.stop_calls()

    job_records.save_job(job.record)
    with stop_at_signals(stop):
        try:
            folder = job.place()
            click.echo(f"sent to {escape_text(folder)}", err=True)
            for output in job.prepare(environment) if environment else ():
                for line in output.text.splitlines():
                    click.echo(escape_text(f"{output.worker} | {line}"), err=True)
            is_begun = not signals
            keepers = job.begin(environment) if is_begun else []
        except Problem:
            withdraw_job(job)
            if not signals:
                raise
        if signals:
            withdraw_job(job)
            raise Problem(
                "stopped, and the job was ended on every worker that was reached",
                hint=f"`tpustarter tpu job list {job.record.tpu}` shows what the workers say",
                code=ExitCode.INTERRUPTED if signals[0] == 2 else ExitCode.TERMINATED,  # SIGINT
            )
        job_records.save_job(replace(job.record, phase="running"))
    kept = phrases.join_words(sorted(set(keepers)))
    count = phrases.format_count(len(job.workers), "worker")
    click.echo(f"{job.record.id} runs on {count}, kept by {kept}", err=True)


def withdraw_job(job: TpuJob) -> None:
    """End a partly started job; if a worker cannot be reached, the job stays in the list."""
    try:
        job.end()
    except Problem:
        states, errors = job.read_states()
        if errors or any(one.state == "running" for one in states):
            return
    job_records.forget_job(job.record)

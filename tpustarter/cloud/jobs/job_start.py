"""The start of a job on all workers, or on none."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tpustarter.cloud.api.api_client import OfferingClient
from tpustarter.cloud.api.clock import Clock, WallClock
from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.delete import ownership
from tpustarter.cloud.jobs import job_end, job_records, job_run
from tpustarter.cloud.jobs.job_records import JobRecord
from tpustarter.cloud.jobs.job_run import SetupOutput, TpuJob, WorkerEnvironment
from tpustarter.cloud.jobs.worker_calls import ConnectionSettings
from tpustarter.core.problem import ExitCode, Problem


@dataclass(frozen=True)
class JobRequest:
    """A job as requested."""

    tpu: str
    command: tuple[str, ...]
    profile: str | None = None
    fetch: tuple[str, ...] = ()
    fetch_to: Path | None = None
    """The folder for the results; None for one named after the job."""
    give_back: bool = False
    again: int = 0


@dataclass(frozen=True)
class FolderSent:
    """The folder is on all workers."""

    folder: str


@dataclass(frozen=True)
class JobBegun:
    """The command runs on all workers."""

    record: JobRecord
    keepers: tuple[str, ...]
    """The programs that keep it running."""


StartEvent = FolderSent | SetupOutput | JobBegun


def make_record(
    order: JobRequest, workers: Sequence[Worker], route: ConnectionSettings
) -> JobRecord:
    """Return the record of a job that is about to start."""
    began, node = WallClock().now(), workers[0].node
    id_ = f"{order.tpu}-{began:%Y%m%d-%H%M%S}"
    has_results = order.fetch or order.give_back
    return JobRecord(
        id=id_,
        project=node.project,
        zone=node.zone,
        tpu=order.tpu,
        command=order.command,
        workers=tuple(worker.label for worker in workers),
        created=ownership.format_creation_time(node),
        began=began.isoformat(timespec="seconds"),
        via=route.via,
        iap=route.iap,
        user=route.user,
        give_back=order.give_back,
        profile=order.profile,
        again=order.again,
        fetch=order.fetch,
        fetch_to=str((order.fetch_to or Path(id_)).absolute()) if has_results else "",
    )


def start_job(
    client: OfferingClient, job: TpuJob, environment: WorkerEnvironment | None, clock: Clock
) -> Generator[StartEvent, None, bool]:
    """Start a job on all workers, or on none; yield the events.

    Returns whether it runs. It does not if its TPU was pre-empted meanwhile, and the job is to be
    started again on another one.

    Raises:
        Problem: The start was stopped, or it failed on a worker.
    """
    try:
        yield from _start_on_all_workers(job, environment)
    except Problem as problem:
        is_unreached = problem.code is ExitCode.BUSY and not job.is_cancelled
        # Without an archive, all workers were reached at the end, and the job was forgotten.
        if not (is_unreached and job.record.again > 0 and job.record.archive.exists()):
            raise
        is_pre_empted = job_end.query_preemption(client, job, clock)
        if job.is_cancelled:  # while Google was asked; otherwise another TPU would be requested
            problem.code = ExitCode.INTERRUPTED
            raise
        if not is_pre_empted:
            raise
        ended = replace(job.record, phase="ended", code=job_run.UNREACHED)
        job.record = job_records.save_job(ended)
        return False
    return True


def _start_on_all_workers(
    job: TpuJob, environment: WorkerEnvironment | None
) -> Generator[StartEvent, None, None]:
    job_records.save_job(job.record)
    keepers: list[str] = []
    try:
        yield FolderSent(job.upload_files())
        if environment and not job.is_cancelled:
            yield from job.create_environment(environment)
        keepers = job.start_command(environment)
    except Problem:
        if not job.is_cancelled:
            _withdraw_job(job)
            raise
    if job.is_cancelled:
        _withdraw_job(job)
        raise Problem(
            "stopped, and the job was ended on every worker that was reached",
            hint=f"`tpustarter tpu job list {job.record.tpu}` shows what the workers say; "
            f"`{job.record.tpu}` stays, and is billed until you delete it",
            code=ExitCode.INTERRUPTED,
        )
    job.record = job_records.save_job(replace(job.record, phase="running"))
    yield JobBegun(job.record, tuple(sorted(set(keepers))))


def _withdraw_job(job: TpuJob) -> None:
    """End a job that did not start on all workers. Its record stays if the job may still run."""
    try:
        job.stop_command()
    except Problem:
        states, errors = job.read_states()
        if errors or any(one.state == "running" for one in states):
            return
    job_records.forget_job(job.record)

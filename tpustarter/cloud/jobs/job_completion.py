"""Follows a job to its end: its logs, its results, and the deletion of its TPU.

Both front ends show these events.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tpustarter.cloud.api import workers
from tpustarter.cloud.api.api_client import OfferingClient
from tpustarter.cloud.api.clock import Clock
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.create.events import Event
from tpustarter.cloud.create.tpu_creation import TpuCreation
from tpustarter.cloud.jobs import job_end, job_records, job_run
from tpustarter.cloud.jobs.job_records import JobRecord
from tpustarter.cloud.jobs.job_results import FetchedFile
from tpustarter.cloud.jobs.job_run import FollowEvent, TpuJob, WorkerJobState
from tpustarter.core.problem import ExitCode, Problem


@dataclass(frozen=True)
class StatesRead:
    """The job's states on its workers, once all logs were read."""

    states: tuple[WorkerJobState, ...]
    is_end: bool
    """True if the job was followed to its end."""


@dataclass(frozen=True)
class LogsKept:
    """The job has ended, and its logs are on this machine."""

    record: JobRecord
    is_failed: bool
    """True if the job failed without being stopped, and its logs are worth explaining."""


@dataclass(frozen=True)
class ResultsFetched:
    """All results were fetched."""

    count: int
    bytes: int
    target: Path


@dataclass(frozen=True)
class TpuDeletionStarted:
    """The deletion of the TPU begins."""

    commands: tuple[tuple[str, ...], ...]
    """The gcloud commands that do the same."""
    spent: str
    """The cost so far, as a sentence."""


@dataclass(frozen=True)
class TpuDeleted:
    """The TPU was deleted."""

    record: JobRecord


@dataclass(frozen=True)
class TpuRecreationStarted:
    """The TPU was pre-empted and is requested again."""

    record: JobRecord
    spent: str
    """The cost so far, as a sentence."""


JobEvent = (
    FollowEvent
    | StatesRead
    | LogsKept
    | FetchedFile
    | ResultsFetched
    | TpuDeletionStarted
    | TpuDeleted
    | TpuRecreationStarted
    | Event
)


def follow_job(
    client: OfferingClient, project: Project, job: TpuJob, clock: Clock, *, until_end: bool = True
) -> Generator[JobEvent, None, int | None]:
    """Follow a job, then fetch its results and give its TPU back as requested; yield the events.

    Returns the worst exit code of its workers, or None if the job is to be started again.

    Raises:
        Problem: Following was stopped, or a step after the job's end failed.
    """
    try:
        states = yield from job.follow(client, until_end=until_end)
    except Problem as problem:  # a log could not be written
        problem.detail = f"The job goes on; {_describe_continuation(job)}."
        raise
    if job.is_cancelled:
        raise _make_interruption(job)
    yield StatesRead(tuple(states), until_end)
    if not until_end:
        return 0
    code = job_run.UNREACHED
    if len(states) == len(job.workers) and all(one.state != "placed" for one in states):
        job.record = job_run.save_job_end(job.record, states)
        code = job_run.find_worst_exit_code(states)
    is_pre_empted = job.record.again > 0 and job_end.is_pre_empted(client, job, states, clock)
    if job.is_cancelled:
        raise _make_interruption(job)
    if is_pre_empted:
        return None
    try:
        yield from _end(client, project, job, states, clock)
    except Problem:
        if not job.is_cancelled:
            raise
    if job.is_cancelled and job.record.phase != "given-back":
        raise _make_interruption(job)
    return code


def _make_interruption(job: TpuJob) -> Problem:
    name = job.record.tpu
    kept = f", so `{name}` is not given back now" if job.record.give_back else ""
    return Problem(
        f"stopped following{kept}",
        hint=f"the job goes on; {_describe_continuation(job)}",
        code=ExitCode.INTERRUPTED,
    )


def _describe_continuation(job: TpuJob) -> str:
    return (
        f"`tpustarter tpu job logs -f {job.record.tpu}` follows it again, and does what is to be "
        "done at its end"
    )


def _end(
    client: OfferingClient,
    project: Project,
    job: TpuJob,
    states: Sequence[WorkerJobState],
    clock: Clock,
) -> Generator[JobEvent, None, None]:
    """Fetch the results, and give the TPU back once they are safe."""
    record = job.record
    record.archive.unlink(missing_ok=True)  # it is not sent again
    is_failed = bool(record.code) and not any(one.is_stopped for one in states)
    yield LogsKept(record, is_failed)
    fetched = 0
    if record.fetch and any(one.state != "gone" for one in states):
        try:
            fetched = yield from fetch_results(job, record.fetch, Path(record.fetch_to))
        except Problem as problem:
            kept = f"`{record.tpu}` is kept; " if record.give_back else ""
            problem.hint = f"{kept}`tpustarter tpu job logs -f {record.tpu}` fetches them again"
            raise
        record = job.record = job_records.save_job(replace(record, is_fetched=True))
    if not record.give_back or job.is_cancelled:
        return
    job_end.require_safe_results(record, states, fetched)
    plan = job_end.find_deletion_plan(client, job)
    commands = tuple(plan.commands(project)) if plan else ()
    if job.is_cancelled:
        return
    yield TpuDeletionStarted(commands, job_end.describe_spending(job, clock.now()))
    if job.is_cancelled:  # since the last look; from here on a signal ends only the wait
        return
    yield from job_end.delete_job_tpu(client, job, plan, clock)
    job.record = job_records.save_job(replace(record, phase="given-back"))
    yield TpuDeleted(job.record)


def fetch_results(
    job: TpuJob, patterns: Sequence[str], target: Path
) -> Generator[FetchedFile | ResultsFetched, None, int]:
    """Fetch results and yield each; returns their number. Raises Problem."""
    count = size = 0
    for one in job.fetch(patterns, target):
        yield one
        count += 1
        size += one.bytes
    yield ResultsFetched(count, size, target)
    return count


def recreate_tpu(
    client: OfferingClient, project: Project, job: TpuJob, clock: Clock
) -> Generator[JobEvent, None, None]:
    """Replace a pre-empted TPU with a new one, and move the job to it.

    Raises:
        Problem: Google did not provide the TPU, or one of its workers cannot be reached.
    """
    request = job_end.find_request(client, job)
    job_end.require_free_recreation(job, request, clock.now())
    yield TpuRecreationStarted(job.record, job_end.describe_spending(job, clock.now()))
    plan = job_end.find_deletion_plan(client, job)
    yield from job_end.delete_job_tpu(client, job, plan, clock)
    yield from TpuCreation(client, project, clock).run([request])
    new = workers.choose_workers(workers.find_nodes(client, job.record.tpu, job.record.zone))
    job_end.move_job(job, new)
    job_end.wait_until_reached(job, clock)

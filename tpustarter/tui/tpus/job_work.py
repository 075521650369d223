"""The events of a job that a screen starts or follows, produced in a worker thread."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TypeVar

from tpustarter.cloud.api.api_client import OfferingClient
from tpustarter.cloud.api.clock import Clock
from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.jobs import (
    job_completion,
    job_connection,
    job_end,
    job_records,
    job_run,
    job_start,
)
from tpustarter.cloud.jobs.job_completion import JobEvent, LogsKept
from tpustarter.cloud.jobs.job_connection import TypedConnection
from tpustarter.cloud.jobs.job_files import JobFiles
from tpustarter.cloud.jobs.job_records import JobRecord
from tpustarter.cloud.jobs.job_run import SetupOutput, TpuJob, WorkerJobState, WorkerLogLines
from tpustarter.cloud.jobs.job_start import JobRequest, StartEvent
from tpustarter.core.problem import Problem
from tpustarter.setup.environment.worker_environment import make_worker_environment
from tpustarter.tui.explain.failed_run import LOG, FailedRun
from tpustarter.tui.tpus.worker_output import WorkerBoard

JobBoard = WorkerBoard[WorkerJobState]
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class JobSubject:
    """A job to start, or an existing one."""

    tpu: str
    zone: str
    project: Project
    id: str | None = None
    """The id of an existing job."""
    order: JobRequest | None = None
    files: JobFiles | None = None
    """The files of a job to start."""


@dataclass(frozen=True)
class JobOpened:
    """The job's workers are known, and their output goes to the board."""

    job: TpuJob
    board: JobBoard


@dataclass(frozen=True)
class FirstFailure:
    """The worker that failed first, with the reason if its log shows one."""

    log: FailedRun
    label: str
    """Empty if the logs do not show which one was first."""
    what: str
    """The known failure in words, or else the last error in the log."""


@dataclass(frozen=True)
class JobDone:
    """The screen's work on the job has ended."""

    problem: Problem | None = None


ScreenEvent = JobOpened | FirstFailure | JobDone | JobEvent | StartEvent


def start_or_follow_job(
    subject: JobSubject, client: OfferingClient, clock: Clock
) -> Iterator[ScreenEvent]:
    """Start a job or open an existing one, follow it to its end, and yield its events.

    Raises:
        Problem: The job could not be started or found.
    """
    job = _open(subject, client)
    board = JobBoard(job.record.workers)
    yield JobOpened(job, board)
    is_over = job.record.is_done
    if not job.workers:
        _read_logs(job.record, board)
    if is_over and job.record.code and not job.record.is_stopped:
        yield _find_first_failure(job.record)
    if not job.workers:
        return
    if subject.order:
        board = yield from _start(client, subject, job, board, clock)
    while True:
        following = job_completion.follow_job(
            client, subject.project, job, clock, until_end=not is_over
        )
        code = yield from _record(following, board)
        if code is not None:
            return
        board = yield from _recreate_tpu(client, subject, job, clock)
        board = yield from _start(client, subject, job, board, clock)


def _open(subject: JobSubject, client: OfferingClient) -> TpuJob:
    typed = TypedConnection(subject.zone)
    if not (subject.order and subject.files):
        return job_connection.load_job(client, subject.project, subject.tpu, subject.id, typed)
    workers, route = job_connection.find_workers(client, subject.project, subject.tpu, typed)
    job = TpuJob(job_start.make_record(subject.order, workers, route), workers, route)
    job_run.require_no_running_job(job)
    if job.record.again:
        job_end.save_tpu_request(client, job)
    job.pack(subject.files)
    return job


def _start(
    client: OfferingClient, subject: JobSubject, job: TpuJob, board: JobBoard, clock: Clock
) -> Generator[ScreenEvent, None, JobBoard]:
    """Start a job, on another TPU if its own is pre-empted meanwhile; returns its board."""
    while True:
        environment = make_worker_environment(job.record.profile)
        starting = job_start.start_job(client, job, environment, clock)
        if (yield from _record(starting, board)):
            return board
        board = yield from _recreate_tpu(client, subject, job, clock)


def _recreate_tpu(
    client: OfferingClient, subject: JobSubject, job: TpuJob, clock: Clock
) -> Generator[ScreenEvent, None, JobBoard]:
    yield from job_completion.recreate_tpu(client, subject.project, job, clock)
    board = JobBoard(job.record.workers)
    yield JobOpened(job, board)
    return board


def _record(
    events: Generator[StartEvent | JobEvent, None, _Result], board: JobBoard
) -> Generator[ScreenEvent, None, _Result]:
    """Put the output and the states on the board, and yield the other events."""
    while True:
        try:
            event = next(events)
        except StopIteration as end:
            return end.value
        if isinstance(event, SetupOutput):
            board.record_lines(event.worker, event.text.splitlines())
            continue
        if isinstance(event, WorkerLogLines):
            board.record_lines(event.worker, event.lines)
            continue
        if isinstance(event, job_run.WorkerJobEnded):
            board.record_end(event.state.worker, event.state)
        elif isinstance(event, job_completion.StatesRead):
            for state in event.states:
                board.record_end(state.worker, state)
        yield event
        if isinstance(event, LogsKept) and event.is_failed:
            yield _find_first_failure(event.record)


def _read_logs(record: JobRecord, board: JobBoard) -> None:
    """Put the local logs on the board."""
    for path, label in zip(record.logs, record.workers, strict=True):
        for lines in job_records.read_log_lines(path):
            board.record_lines(label, lines)


def _find_first_failure(record: JobRecord) -> FirstFailure:
    """Return the first failure of a job, found in the logs of all workers."""
    from tpustarter.explain import worker_logs

    runs = {
        label: FailedRun(LOG, f"the log of {label}", file=path)
        for label, path in zip(record.workers, record.logs, strict=True)
    }
    job = worker_logs.explain_job({label: run.scan() for label, run in runs.items()})
    found, label = job.found, job.first.name if job.first else ""
    what = found.matches[0].failure.what if found.is_explained else found.last_error
    return FirstFailure(runs[label or job.workers[0].name], label, what)

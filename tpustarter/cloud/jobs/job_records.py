"""The jobs on record on this machine, and its copies of their logs.

A record has the route to a job and what to do at its end; the job's state is on its workers. A log
has the same bytes as the beginning of the worker's file, so that several programs at a time can
extend it from its current size.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec

from tpustarter.cloud.api.clock import WallClock
from tpustarter.core import locations, state
from tpustarter.core.json_values import as_object
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.running.line_splitter import LineSplitter

STATE = "jobs"
LOCK_WAIT_S = 10.0
MOST_JOBS = 100
"""Number of newest jobs that are kept with their logs; unfinished ones are kept in any case."""
OLDEST_DAYS = 365
"""Days after which a job counts as over even if it was never followed to its end."""
UNKNOWN_DAYS = 1
"""Days after which a job's folder without a record is removed."""

_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,199}", re.ASCII)

Phase = Literal["starting", "running", "ended", "given-back"]


def jobs_folder() -> Path:
    """Return the folder with one subfolder per job."""
    return locations.state_folder_path() / "tpu-jobs"


def is_job_id(text: str) -> bool:
    """Return whether a string is a valid job id, whose folder cannot be outside the jobs folder."""
    return _ID.fullmatch(text) is not None


@dataclass(frozen=True)
class JobRecord:
    """The record of a job on this machine."""

    id: str
    """The TPU's name and the start time in UTC, such as `bert-20261129-225553`."""
    project: str
    zone: str
    tpu: str
    """The name as typed: of a TPU, or of a queued resource with several slices."""
    command: tuple[str, ...]
    workers: tuple[str, ...]
    """Labels of the workers, in the order of their numbers in the job."""
    created: str
    """The TPU's creation time at Google, which differs for a later TPU of the same name."""
    began: str
    via: str = "gcloud"
    iap: bool = False
    user: str | None = None
    phase: Phase = "starting"
    code: int | None = None
    """The worst exit code of its workers, once the job has ended."""
    is_stopped: bool = False
    """True if the user stopped the job."""
    give_back: bool = False
    fetch: tuple[str, ...] = ()
    """Patterns of the results to fetch at its end."""
    fetch_to: str = ""
    is_fetched: bool = False
    """True if all matching results were fetched after its end."""
    profile: str | None = None
    """The set-up profile whose environment it runs in."""
    again: int = 0
    """Number of restarts on a new TPU that remain for pre-emptions."""
    request: Mapping[str, object] | None = None
    """The request for the same TPU, if Google forgets it with the TPU."""
    spent_usd: float = 0.0
    """Upper bound on the chip cost of the job's earlier TPUs, as far as it is known."""

    @property
    def is_done(self) -> bool:
        """True if the job has ended and everything requested for its end was done."""
        is_fetched = self.is_fetched or not self.fetch
        is_complete = self.phase == "ended" and is_fetched and not self.give_back
        return self.phase == "given-back" or is_complete

    @property
    def log_folder(self) -> Path:
        """Return this machine's folder for the job's logs."""
        return jobs_folder() / self.id

    @property
    def archive(self) -> Path:
        """Return the path of the archive to send, which is kept while it may be sent again."""
        return self.log_folder / "code.tar.gz"

    @property
    def logs(self) -> list[Path]:
        """Return the paths of the job's local logs, in the order of the workers."""
        return [self.log_folder / f"{label.replace('/', '-')}.log" for label in self.workers]

    @property
    def start_time(self) -> datetime:
        """Return the time at which the job was started."""
        return datetime.fromisoformat(self.began)


_FIELDS = {field.name for field in fields(JobRecord)}


def read_jobs() -> list[JobRecord]:
    """Return all job records, least recently saved first; raises Problem."""
    return [record for row in state.load_rows(STATE, "jobs") if (record := _read(row)) is not None]


def find_job(project: str, tpu: str, job: str | None = None) -> JobRecord | None:
    """Return the job with an id, or else a TPU's most recently saved one; None if none exists."""
    jobs = [one for one in read_jobs() if (one.project, one.tpu) == (project, tpu)]
    return next((one for one in reversed(jobs) if job in (None, one.id)), None)


def save_job(record: JobRecord) -> JobRecord:
    """Save a job's record, replacing any earlier one; raises Problem."""
    _change(lambda rows: [*(row for row in rows if not _is_of(row, record)), asdict(record)])
    return record


def forget_job(record: JobRecord) -> None:
    """Delete the record and the folder of a job that never started; raises Problem."""
    _change(lambda rows: [row for row in rows if not _is_of(row, record)])
    shutil.rmtree(record.log_folder, ignore_errors=True)


def _is_of(row: object, record: JobRecord) -> bool:
    return as_object(row).get("id") == record.id


def _read(row: object) -> JobRecord | None:
    """Return a row's record, or None if it is invalid or from another version."""
    try:
        record = msgspec.convert(row, JobRecord)
        is_ours = {*as_object(row)} <= _FIELDS and record.start_time.tzinfo and record.workers
        is_ours = is_ours and is_job_id(record.id)
    except ValueError:
        return None
    return record if is_ours else None


def _change(change: Callable[[list[object]], Sequence[object]]) -> None:
    busy = Problem(
        "another tpustarter is writing the list of jobs",
        hint="try again in a moment",
        code=ExitCode.BUSY,
    )
    path = locations.make_state_folder() / f"{STATE}.lock"
    with locations.hold_lock(path, wait_s=LOCK_WAIT_S, busy=busy, is_needed=True):
        rows = change(state.load_rows(STATE, "jobs"))
        jobs = sorted(filter(None, map(_read, rows)), key=lambda one: one.start_time)
        dropped = {one.id for one in jobs[:-MOST_JOBS] if _is_over(one)}
        rows = [row for row in rows if as_object(row).get("id") not in dropped]
        state.save_state(STATE, {"jobs": rows})
        _remove_folders(dropped, {str(as_object(row).get("id")) for row in rows})


def _is_over(record: JobRecord) -> bool:
    """Return whether a job is done, or too old to wait for."""
    if record.is_done:
        return True
    return WallClock().now() - record.start_time > timedelta(days=OLDEST_DAYS)


def _remove_folders(dropped: Collection[str], kept: Collection[str]) -> None:
    """Remove the folders of dropped jobs, and old folders without a record.

    Once a damaged list was moved aside, no record may mean that it is in there.
    """
    is_damaged = any(locations.state_folder_path().glob(f"{STATE}.broken-*"))
    before = time.time() - UNKNOWN_DAYS * 24 * 3600
    with contextlib.suppress(OSError):
        for folder in jobs_folder().iterdir():
            is_old = folder.name not in kept and folder.stat().st_mtime < before
            if folder.name in dropped or (is_old and not is_damaged):
                shutil.rmtree(folder, ignore_errors=True)


class JobLog:
    """The local copy of one worker's log, from its beginning."""

    def __init__(self, path: Path) -> None:
        """Open the log, creating it if it is missing; raises Problem."""
        locations.make_folder(path.parent)
        with locations.convert_write_errors(path):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        locations.chown_to_caller(path)
        self.path = path
        self.size = os.fstat(self._descriptor).st_size

    def write_at(self, offset: int, data: bytes) -> None:
        """Write bytes at their offset in the worker's file; raises Problem if that fails."""
        with locations.convert_write_errors(self.path):
            while data:
                written = os.pwrite(self._descriptor, data, offset)
                data, offset = data[written:], offset + written

    def read_known(self) -> Iterator[bytes]:
        """Yield the content that the log had when it was opened; raises Problem."""
        offset = 0
        with locations.convert_write_errors(self.path):
            while offset < self.size:
                data = os.pread(self._descriptor, min(1 << 20, self.size - offset), offset)
                offset += len(data)
                yield data

    def close(self) -> None:
        """Flush the log to disk and close it."""
        with contextlib.suppress(OSError):
            os.fsync(self._descriptor)
        os.close(self._descriptor)


def read_log_lines(path: Path) -> Iterator[list[str]]:
    """Yield the lines of a local log in batches; raises Problem."""
    if not path.exists():
        return
    splitter = LineSplitter()
    with contextlib.closing(JobLog(path)) as log:
        for data in log.read_known():
            yield splitter.feed(data)
    yield splitter.take_rest()

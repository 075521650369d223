"""The jobs that were started from this machine, and their logs as far as they were seen here.

A record says how to reach a job and what to do at its end; the state of a job is on its workers. A
log is the worker's file, byte by byte from the beginning, so that it can be continued at its size,
by several programs at a time.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Literal

import msgspec

from tpustarter.core import locations, state
from tpustarter.core.json_values import as_object, is_array
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.running.line_splitter import LineSplitter

STATE = "jobs"
LOCK_WAIT_S = 10.0
KEPT = 100
"""Jobs that are kept, the newest, with their logs; one that is not over stays in any case."""
OLDEST_DAYS = 365
"""Days after which a job that was never followed to its end is not kept for that."""
UNKNOWN_DAYS = 1
"""Days after which the folder of a job is removed whose start was cut short."""

_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,199}", re.ASCII)

Phase = Literal["starting", "running", "ended", "given-back"]


def jobs_folder() -> Path:
    """Return the folder that has one of each job."""
    return locations.state_folder_path() / "tpu-jobs"


def is_job_id(text: str) -> bool:
    """Return whether a text can be the id of a job, so that its folder is below that of all."""
    return _ID.fullmatch(text) is not None


@dataclass(frozen=True)
class JobRecord:
    """A job, as this machine knows it."""

    id: str
    """`bert-20261129-225553`: the TPU and the time, in UTC."""
    project: str
    zone: str
    tpu: str
    """The name that was typed: of a TPU, or of a queued resource with several slices."""
    command: tuple[str, ...]
    workers: tuple[str, ...]
    """Labels of the workers, in the order of their numbers in the job."""
    created: str
    """Creation time of the TPU by Google's clock: another one of the same name has another."""
    began: str
    via: str = "gcloud"
    iap: bool = False
    user: str | None = None
    phase: Phase = "starting"
    code: int | None = None
    """The worst exit code, once it has ended."""
    is_stopped: bool = False
    """True if the user has ended it."""
    give_back: bool = False
    fetch: tuple[str, ...] = ()
    """Patterns of results that are fetched at its end."""
    fetch_to: str = ""
    is_fetched: bool = False
    """True if all that matched was fetched after its end."""
    profile: str | None = None
    """The set-up profile whose environment it runs in."""
    again: int = 0
    """How often it may still be started on a new TPU after a pre-emption."""
    spent_usd: float = 0.0
    """The most that the chips of the TPUs before this one have cost, where that is known."""

    @property
    def is_done(self) -> bool:
        """True if nothing is to be done for it any more, as it was started with."""
        is_fetched = self.is_fetched or not self.fetch
        is_complete = self.phase == "ended" and is_fetched and not self.give_back
        return self.phase == "given-back" or is_complete

    @property
    def log_folder(self) -> Path:
        """Return the folder of its logs here."""
        return jobs_folder() / self.id

    @property
    def archive(self) -> Path:
        """Return the file of what is sent; it stays as long as it may be sent again."""
        return self.log_folder / "code.tar.gz"

    @property
    def logs(self) -> list[Path]:
        """Return the files of its logs here, in the order of the workers."""
        return [self.log_folder / f"{label.replace('/', '-')}.log" for label in self.workers]

    @property
    def start_time(self) -> datetime:
        """Return the time at which it was started."""
        return datetime.fromisoformat(self.began)


_FIELDS = {field.name for field in fields(JobRecord)}


def read_jobs() -> list[JobRecord]:
    """Return all jobs that this machine knows, oldest first; raises Problem."""
    return [record for row in _rows() if (record := _read(row)) is not None]


def find_job(project: str, tpu: str, job: str | None = None) -> JobRecord | None:
    """Return the job with an id, or else the last one on a TPU; None where none is known."""
    jobs = [one for one in read_jobs() if (one.project, one.tpu) == (project, tpu)]
    return next((one for one in reversed(jobs) if job in (None, one.id)), None)


def save_job(record: JobRecord) -> JobRecord:
    """Write a job to the disk, in place of what was known about it; raises Problem."""
    _change(lambda rows: [*(row for row in rows if not _is_of(row, record)), asdict(record)])
    return record


def forget_job(record: JobRecord) -> None:
    """Remove a job that was never started; raises Problem."""
    _change(lambda rows: [row for row in rows if not _is_of(row, record)])
    shutil.rmtree(record.log_folder, ignore_errors=True)


def _is_of(row: object, record: JobRecord) -> bool:
    return as_object(row).get("id") == record.id


def _rows() -> list[object]:
    rows = state.load_state(STATE).get("jobs", [])
    return rows if is_array(rows) else []


def _read(row: object) -> JobRecord | None:
    """Return a record, or None for a row that this version did not write."""
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
        rows = change(_rows())
        jobs = sorted(filter(None, map(_read, rows)), key=lambda one: one.start_time)
        dropped = {one.id for one in jobs[:-KEPT] if _is_over(one)}
        rows = [row for row in rows if as_object(row).get("id") not in dropped]
        state.save_state(STATE, {"jobs": rows})
        _remove_folders(dropped, {str(as_object(row).get("id")) for row in rows})


def _is_over(record: JobRecord) -> bool:
    """Return whether nothing of a job is waited for any more."""
    if record.is_done:
        return True
    return datetime.now(timezone.utc) - record.start_time > timedelta(days=OLDEST_DAYS)


def _remove_folders(dropped: Collection[str], kept: Collection[str]) -> None:
    """Remove the folders of jobs that are no longer known, and of starts that were cut short."""
    before = time.time() - UNKNOWN_DAYS * 24 * 3600
    with contextlib.suppress(OSError):
        for folder in jobs_folder().iterdir():
            is_old = folder.name not in kept and folder.stat().st_mtime < before
            if folder.name in dropped or is_old:
                shutil.rmtree(folder, ignore_errors=True)


class JobLog:
    """The log of one worker here: what was seen of it, from its beginning."""

    def __init__(self, path: Path) -> None:
        """Open it for more, which makes it where it is not there; raises Problem."""
        locations.make_folder(path.parent)
        with locations.convert_write_errors(path):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        locations.chown_to_caller(path)
        self.path = path
        self.size = os.fstat(self._descriptor).st_size

    def write_at(self, offset: int, data: bytes) -> None:
        """Write bytes at their place in the worker's file; raises Problem for a full disk."""
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
        """Close it, with all that was written on the disk."""
        with contextlib.suppress(OSError):
            os.fsync(self._descriptor)
        os.close(self._descriptor)


def read_log_lines(path: Path) -> Iterator[list[str]]:
    """Yield the lines of a log that is here, some at a time; raises Problem."""
    if not path.exists():
        return
    splitter = LineSplitter()
    with contextlib.closing(JobLog(path)) as log:
        for data in log.read_known():
            yield splitter.feed(data)
    yield splitter.take_rest()

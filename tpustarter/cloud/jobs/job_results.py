"""Fetches a job's results from a worker, each into a temporary file until its hash is verified."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.jobs.worker_calls import AnswerFrame, CallError, WorkerFields, WorkerTasks
from tpustarter.core import locations

FETCH_ATTEMPTS = 5


@dataclass(frozen=True)
class FetchedFile:
    """A fetched result, with the same hash as on the worker."""

    worker: str
    path: Path
    bytes: int
    sha256: str


@dataclass(frozen=True)
class FetchTask:
    """The task that fetches a worker's results, reconnecting after lost connections."""

    fields: WorkerFields
    target: Path

    def __call__(
        self, tasks: WorkerTasks, worker: Worker, put: Callable[[AnswerFrame], None]
    ) -> None:
        """Fetch the results of one worker; raises CallError."""
        have: dict[str, str] = {}
        attempts = 0
        while True:
            attempts += 1
            try:
                return self._fetch(tasks, worker, have, put)
            except CallError as error:
                if error.is_refused or tasks.stopping.is_set() or attempts == FETCH_ATTEMPTS:
                    raise
            tasks.stopping.wait(2.0 ** (attempts - 1))

    def _fetch(
        self,
        tasks: WorkerTasks,
        worker: Worker,
        have: dict[str, str],
        put: Callable[[AnswerFrame], None],
    ) -> None:
        frames = tasks.call(worker, {**self.fields(worker), "have": have})
        base = self.target / worker.label.replace("/", "-")
        is_whole = False
        with contextlib.closing(frames):
            for frame in frames:
                if frame.event == "file":
                    about = frame.fields
                    path = _write_result(base, about, frames)
                    have[str(about["path"])] = str(about["sha256"])
                    put(AnswerFrame("fetched", {**about, "target": path}))
                is_whole = frame.event == "done"
        if not is_whole:
            raise CallError("was lost: its connection ended before all results were here")


def _write_result(base: Path, about: Mapping[str, object], frames: Iterator[AnswerFrame]) -> Path:
    """Write one result to a temporary file, verify its hash, and move it into place."""
    name = PurePosixPath(str(about["path"]))
    target = base / name
    if name.is_absolute() or ".." in name.parts:
        raise CallError(f"sent a path outside the folder: {str(name)!a}", is_refused=True)
    locations.make_folders(target.parent)
    if base.resolve() not in (target.parent.resolve(), *target.parent.resolve().parents):
        raise CallError(f"has a result that a link here leads away: {str(name)!a}", is_refused=True)
    hashed, left = hashlib.sha256(), int(str(about["bytes"]))
    descriptor, part = tempfile.mkstemp(prefix=".tpustarter-", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            while left > 0:
                frame = next(frames, None)
                if frame is None or frame.event != "data":
                    raise CallError("was lost: its connection ended in the middle of a file")
                hashed.update(frame.data)
                file.write(frame.data)
                left -= len(frame.data)
            file.flush()
            os.fsync(file.fileno())
        if left or hashed.hexdigest() != about["sha256"]:
            raise CallError(f"has changed {str(name)!a} while it was sent")
        Path(part).chmod(int(str(about["mode"])) & 0o755 | 0o600)
        Path(part).replace(target)
    except OSError as error:
        why = f"has a result that cannot be written here: {error.strerror or error}"
        raise CallError(why, is_refused=True) from error
    finally:
        Path(part).unlink(missing_ok=True)
    locations.chown_to_caller(target)
    return target

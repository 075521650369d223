"""Calls to the worker program of a job, over gcloud or ssh, on many workers in parallel.

The worker's shell gets the same short command for every call. Names, patterns and the job's
command are sent as JSON on stdin, so that no shell ever parses them.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tpustarter.cloud.api.project_and_zone import Project
from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.jobs import connection as worker_connection
from tpustarter.cloud.jobs import connection_failures, worker_program
from tpustarter.cloud.jobs.worker_threads import CONNECTING, WorkerThreads
from tpustarter.core.json_values import as_object
from tpustarter.core.problem import ExitCode, Problem

CODE = f"~/{worker_program.FOLDER}/{{}}/code"
"""Format string for a job's code folder on its workers; it takes the job's id."""
END_S = 5.0
"""Seconds between TERM and KILL for gcloud or ssh."""
BOOTSTRAP = 'python3 -Ic "import sys; i = sys.stdin.buffer; exec(i.read(int(i.readline())))"'
"""Command for the worker's shell, which reads a program's length and source, and runs it."""
_GREETING_BYTES = 1 << 20
"""Most bytes that a login script may write before an answer."""
_FRAME_BYTES = 64 << 20


@dataclass(frozen=True)
class ConnectionSettings:
    """The connection settings for a TPU's workers."""

    project: Project
    program: str = ""
    """Path of gcloud or ssh; empty for its name."""
    via: str = "gcloud"
    iap: bool = False
    user: str | None = None

    def command(self, worker: Worker, text: str = BOOTSTRAP) -> tuple[str, ...]:
        """Return the command that runs a shell command on a worker."""
        iap = self.iap or worker.needs_iap
        if self.via == "ssh":
            words = worker_connection.ssh_command(worker, text, iap=iap, user=self.user)
        else:
            words = worker_connection.gcloud_command(
                worker, self.project, text, iap=iap, user=self.user
            )
        return (self.program or words[0], *words[1:])


@dataclass(frozen=True)
class AnswerFrame:
    """A part of a worker's answer."""

    event: str
    fields: Mapping[str, object]
    data: bytes = b""


class CallError(Exception):
    """A call that failed, or that the worker refused."""

    def __init__(self, what: str, *, is_refused: bool = False, fixes: tuple[str, ...] = ()) -> None:
        super().__init__(what)
        self.what = what
        """Text that follows the worker's name in a message."""
        self.is_refused = is_refused
        """True if the worker answered that it cannot carry out the call."""
        self.fixes = fixes


def read_worker_program() -> str:
    """Return the source of the worker program."""
    return Path(worker_program.__file__).read_text("utf-8")


class WorkerCall:
    """One call to one worker, as a process of gcloud or ssh."""

    def __init__(
        self,
        route: ConnectionSettings,
        worker: Worker,
        call: Mapping[str, object],
        payload: Path | None = None,
    ) -> None:
        """Start the process, which sends the fields of a call and then the payload file."""
        self._process = subprocess.Popen(
            route.command(worker),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=worker_connection.environment_variables(),
            start_new_session=True,
        )
        self._stdin, self._stdout, self._stderr = map(
            _require_pipe, (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._errors: deque[bytes] = deque(maxlen=40)
        self._threads = [
            threading.Thread(target=self._write, args=(call, payload), daemon=True),
            threading.Thread(target=self._keep_errors, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _write(self, call: Mapping[str, object], payload: Path | None) -> None:
        stdin = self._stdin
        source = read_worker_program().encode()
        # If the worker stops reading, its answer has the reason.
        with contextlib.suppress(OSError):
            stdin.write(b"%d\n%b%b\n" % (len(source), source, json.dumps(call).encode()))
            if payload:
                with payload.open("rb") as file:
                    while data := file.read(256 * 1024):
                        stdin.write(data)
            stdin.flush()

    def _keep_errors(self) -> None:
        for line in self._stderr:
            self._errors.append(line)

    def frames(self) -> Iterator[AnswerFrame]:
        """Yield the frames of the answer; raises CallError if it is refused or incomplete."""
        stdout = self._stdout
        is_whole = _skip_greeting(stdout)
        while line := stdout.readline(_FRAME_BYTES):
            try:
                fields = as_object(json.loads(line))
                size = int(str(fields["size"]))
            except (ValueError, KeyError, TypeError) as error:
                raise CallError("sent something that is no answer") from error
            data = stdout.read(size)
            if len(data) < size:
                is_whole = False
                break
            if fields["event"] == "refused":
                raise CallError(f"cannot do this: {fields['what']}", is_refused=True)
            yield AnswerFrame(str(fields["event"]), fields, data)
        self._raise_for_end()
        if not is_whole:  # such as a login shell that ends with 0
            raise CallError("gave no answer, although the connection ended well")

    def _raise_for_end(self) -> None:
        code = self._process.wait()
        self._threads[1].join(END_S)
        if code == 0:
            return
        tail = b"".join(self._errors).decode("utf-8", "replace")
        if reason := connection_failures.explain_failure(code, tail):
            raise CallError(reason.what, fixes=reason.fixes)
        last = next((line for line in reversed(tail.splitlines()) if line.strip()), "")
        raise CallError(f"ended with {code}" + (f": {last.strip()}" if last else ""))

    def close(self) -> None:
        """End the process, and wait for it."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                self._signal(signal.SIGKILL)
                self._process.wait()
        for thread in self._threads:
            thread.join(END_S)
        for stream in (self._stdin, self._stdout, self._stderr):
            with contextlib.suppress(OSError):
                stream.close()

    def interrupt(self) -> None:
        """Send TERM to the process without waiting for it; safe in any thread."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _require_pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise CallError("could not be called: a pipe is missing")
    return stream


def _skip_greeting(stdout: IO[bytes]) -> bool:
    """Skip a login script's output, and return whether the first line of the answer follows it."""
    read = 0
    while line := stdout.readline(_GREETING_BYTES):
        read += len(line)
        if line.endswith(worker_program.HELLO):
            return True
        if read > _GREETING_BYTES:
            raise CallError("writes without end before it answers")
    return False


@dataclass(frozen=True)
class WorkerFrame:
    """A frame of one worker's answer."""

    worker: Worker
    frame: AnswerFrame


@dataclass(frozen=True)
class WorkerDone:
    """The end of a task for one worker."""

    worker: Worker
    error: CallError | None = None


Task = Callable[["WorkerTasks", Worker, Callable[[AnswerFrame], None]], None]
"""Function that calls one worker and passes on its frames; raises CallError."""


@dataclass
class WorkerTasks:
    """One task per worker, each in a thread; `stop` ends them from any thread."""

    route: ConnectionSettings
    workers: Sequence[Worker]
    task: Task
    at_a_time: int = CONNECTING

    def __post_init__(self) -> None:
        self._threads = WorkerThreads[WorkerFrame | WorkerDone](self.at_a_time)
        self.stopping = self._threads.stopping

    def stop(self) -> None:
        """End every call; safe in any thread and signal handler."""
        self._threads.stop()

    def call(
        self, worker: Worker, fields: Mapping[str, object], payload: Path | None = None
    ) -> Generator[AnswerFrame, None, None]:
        """Call a worker, and yield the frames of its answer; raises CallError."""
        if self.stopping.is_set():
            raise CallError("was not called any more")
        try:
            call = WorkerCall(self.route, worker, fields, payload)
        except OSError as error:
            raise CallError(f"could not be called: {error}") from error
        with contextlib.closing(call), self._threads.on_stop(call.interrupt):
            yield from call.frames()

    def events(self) -> Generator[WorkerFrame | WorkerDone, None, None]:
        """Yield the frames of the workers' answers, and the end of each worker once."""
        return self._threads.run(self._work, self.workers)

    def _work(self, worker: Worker) -> None:
        error: CallError | None = CallError("was not called, as this program broke")
        try:
            with self._threads.gate:
                self.task(self, worker, lambda frame: self._threads.put(WorkerFrame(worker, frame)))
            error = None
        except CallError as reason:
            error = reason
        except OSError as reason:
            error = CallError(f"met an error of this machine: {reason.strerror or reason}")
        finally:
            self._threads.put(WorkerDone(worker, error))


WorkerFields = Callable[[Worker], Mapping[str, object]]
"""Function that returns the fields of a call for one worker."""


def call_once(fields: WorkerFields, payload: Path | None = None) -> Task:
    """Return a task that makes one call to each worker."""

    def task(tasks: WorkerTasks, worker: Worker, put: Callable[[AnswerFrame], None]) -> None:
        for frame in tasks.call(worker, fields(worker), payload):
            put(frame)

    return task


def raise_for_workers(errors: Mapping[Worker, CallError], what: str, hint: str | None) -> None:
    """Raise Problem if calls failed or were refused, with each distinct reason once."""
    if not errors:
        return
    reasons: dict[str, list[str]] = {}
    for worker, error in errors.items():
        reasons.setdefault(error.what, []).append(worker.label)
    lines = [f"{', '.join(labels)} {reason}" for reason, labels in reasons.items()]
    fixes = [fix for error in errors.values() for fix in error.fixes]
    is_refused = any(error.is_refused for error in errors.values())
    raise Problem(
        what,
        detail="\n".join(lines),
        hint=hint or (fixes[0] if fixes else None),
        code=ExitCode.FAILED if is_refused else ExitCode.BUSY,
    )

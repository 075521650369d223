"""A job on all workers of a TPU: its start, its logs, its end and its results.

Connections may be lost at any time: the command keeps running, and its log is resumed at the last
offset.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from tpustarter.cloud.api import resource_states
from tpustarter.cloud.api.api_client import OfferingClient
from tpustarter.cloud.api.errors import CloudProblem
from tpustarter.cloud.api.workers import Worker
from tpustarter.cloud.jobs import job_files, job_records, worker_calls
from tpustarter.cloud.jobs.job_files import JobFiles
from tpustarter.cloud.jobs.job_records import JobLog, JobRecord
from tpustarter.cloud.jobs.job_results import FetchedFile, FetchTask
from tpustarter.cloud.jobs.worker_calls import (
    AnswerFrame,
    CallError,
    ConnectionSettings,
    Task,
    WorkerFields,
    WorkerFrame,
    WorkerTasks,
)
from tpustarter.cloud.jobs.worker_threads import CONNECTING, StopFlag
from tpustarter.core import locations
from tpustarter.core.json_values import items_of_type
from tpustarter.core.problem import ExitCode, Problem
from tpustarter.running.line_splitter import LineSplitter

UNREACHED = 255
"""Exit code for a worker whose command has no known exit code."""
LONGEST_PAUSE_S = 30.0
"""Longest pause between two attempts to reconnect."""

EndState = Literal["running", "ended", "lost", "placed", "gone"]


@dataclass(frozen=True)
class WorkerEnvironment:
    """A set-up profile's environment on the workers."""

    profile: str
    folder: str
    """Its folder, relative to the worker's home."""
    wheel: tuple[str, ...]
    packages: tuple[str, ...]
    version: str


@dataclass(frozen=True)
class WorkerJobState:
    """The state of a job on one worker, as the worker reports it."""

    worker: str
    """The worker's label."""
    job: str
    tpu: str
    state: EndState
    code: int | None = None
    command: tuple[str, ...] = ()
    began: float | None = None
    ended: float | None = None
    log_bytes: int = 0
    restarted: bool = False
    """True if the machine was rebooted since."""
    is_stopped: bool = False
    """True if the user stopped the job."""
    why: str = ""
    """The reason for `gone`."""


@dataclass(frozen=True)
class WorkerLogLines:
    """Lines that a worker wrote, in the order of its log."""

    worker: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class SetupOutput:
    """Output of the set-up on a worker."""

    worker: str
    text: str


@dataclass(frozen=True)
class ConnectionChanged:
    """A lost or restored connection."""

    worker: str
    lost: str = ""
    """Text that follows the worker's name in a message; empty for a restored connection."""
    is_final: bool = False
    """True if no further attempt is made."""


@dataclass(frozen=True)
class WorkerJobEnded:
    """The end of a job on one worker."""

    state: WorkerJobState


FollowEvent = WorkerLogLines | ConnectionChanged | WorkerJobEnded


def parse_state(worker: Worker, fields: Mapping[str, object]) -> WorkerJobState:
    """Return a job's state from a worker's answer; an unknown state counts as `lost`."""
    code = fields.get("code")
    began, ended = fields.get("began"), fields.get("ended")
    state = fields.get("state")
    return WorkerJobState(
        worker.label,
        str(fields.get("job")),
        str(fields.get("tpu")),
        state if state in ("running", "ended", "placed") else "lost",
        code if isinstance(code, int) else None,
        tuple(items_of_type(fields.get("command"), str)),
        began if isinstance(began, float) else None,
        ended if isinstance(ended, float) else None,
        int(str(fields.get("log_bytes") or 0)),
        bool(fields.get("restarted")),
        bool(fields.get("is_stopped")),
    )


def find_worst_exit_code(states: Sequence[WorkerJobState]) -> int:
    """Return a job's exit code: the highest of its workers, 255 if one is unknown."""
    return max(
        (UNREACHED if one.code is None else min(max(one.code, 0), UNREACHED) for one in states),
        default=0,
    )


@dataclass
class TpuJob:
    """A job and the route to its workers; `cancel_calls` ends its calls from any thread."""

    record: JobRecord
    workers: Sequence[Worker]
    route: ConnectionSettings
    absence: Problem | None = None
    """The reason why it has no workers: its TPU is gone, or could not be asked for."""
    _cancelling: StopFlag = field(default_factory=StopFlag)
    _tasks: list[WorkerTasks] = field(default_factory=list[WorkerTasks])
    _is_starting: bool = False

    @property
    def is_cancelled(self) -> bool:
        """True once `cancel_calls` was called."""
        return self._cancelling.is_set()

    def wait(self, seconds: float) -> None:
        """Wait for a number of seconds, or until `cancel_calls` is called."""
        self._cancelling.wait(seconds)

    def cancel_calls(self) -> None:
        """End every call; commands on the workers keep running.

        While a command is being started, only a second call has an effect, because the start must
        find out on which workers it runs.
        """
        is_second = self.is_cancelled
        self._cancelling.set()
        for tasks in [*self._tasks] if is_second or not self._is_starting else ():
            tasks.stop()

    def _number(self, worker: Worker) -> int:
        return self.workers.index(worker)

    def _fields(self, do: str, **more: object) -> WorkerFields:
        return lambda worker: {
            "do": do,
            "job": self.record.id,
            "number": self._number(worker),
            **more,
        }

    @contextlib.contextmanager
    def _running(self, task: Task, at_a_time: int = CONNECTING) -> Generator[WorkerTasks]:
        tasks = WorkerTasks(self.route, self.workers, task, at_a_time)
        self._tasks.append(tasks)
        try:
            yield tasks
        finally:
            self._tasks.remove(tasks)

    def _frames(
        self, task: Task, errors: dict[Worker, CallError]
    ) -> Generator[WorkerFrame, None, None]:
        """Yield the frames of all workers' answers, and put the failed calls into `errors`."""
        with self._running(task) as tasks, contextlib.closing(tasks.events()) as events:
            for event in events:
                if isinstance(event, WorkerFrame):
                    yield event
                elif event.error:
                    errors[event.worker] = event.error

    def _call_all(
        self,
        do: str,
        what: str,
        payload: Path | None = None,
        hint: str | None = None,
        **more: object,
    ) -> Generator[WorkerFrame, None, None]:
        """Call all workers once; raises Problem if a call fails or is refused."""
        errors: dict[Worker, CallError] = {}
        task = worker_calls.call_once(self._fields(do, **more), payload)
        yield from self._frames(task, errors)
        worker_calls.raise_for_workers(errors, what, hint)

    def pack(self, files: JobFiles) -> None:
        """Write the files to send into an archive; raises Problem."""
        path = self.record.archive
        locations.make_folder(path.parent)
        with locations.convert_write_errors(path), path.open("wb") as file:
            job_files.write_archive(files, file)

    def upload_files(self) -> str:
        """Send the archive to all workers; returns the folder with its files. Raises Problem."""
        record, archive = self.record, self.record.archive
        hashed = hashlib.sha256()
        with locations.convert_write_errors(archive), archive.open("rb") as file:
            while data := file.read(1 << 20):
                hashed.update(data)
        frames = self._call_all(
            "place",
            f"the folder could not be sent to every worker of `{record.tpu}`",
            archive,
            tpu=record.tpu,
            workers=len(self.workers),
            command=record.command,
            bytes=archive.stat().st_size,
            sha256=hashed.hexdigest(),
        )
        folders = [str(one.frame.fields["folder"]) for one in frames]
        if not record.again:
            archive.unlink()
        return folders[0]

    def create_environment(
        self, environment: WorkerEnvironment
    ) -> Generator[SetupOutput, None, None]:
        """Create the environment on all workers that lack it; raises Problem."""
        frames = self._call_all(
            "prepare",
            f"the environment `{environment.profile}` could not be made on every worker",
            folder=environment.folder,
            wheel=environment.wheel,
            packages=environment.packages,
            version=environment.version,
        )
        for one in frames:
            text = one.frame.data.decode("utf-8", "replace")
            if one.frame.event == "prepared":
                text = "made" if one.frame.fields["made"] else "there already"
            yield SetupOutput(one.worker.label, text)

    def start_command(self, environment: WorkerEnvironment | None) -> list[str]:
        """Start the command on all workers, or on none; returns the keepers (systemd or tmux).

        Nothing is started after `cancel_calls`.

        Raises:
            Problem: The command could not be started on one worker, so it was ended on all.
        """
        self._is_starting = not self.is_cancelled
        if self.is_cancelled:
            return []
        path = [f"{environment.folder}/bin"] if environment else []
        what = f"the command could not be started on every worker of `{self.record.tpu}`"
        source = worker_calls.read_worker_program()
        try:
            frames = [*self._call_all("begin", what, source=source, path=path)]
        except Problem as problem:
            with contextlib.suppress(Problem):
                self.stop_command()
                problem.detail += "\nIt was ended on the others, so that it runs nowhere."
            raise
        finally:
            self._is_starting = False
        return [str(one.frame.fields["keeper"]) for one in frames]

    def stop_command(self) -> list[WorkerJobState]:
        """End the command on all workers, and return the job's states; raises Problem."""
        what = f"the job `{self.record.id}` could not be ended on every worker"
        frames = [*self._call_all("stop", what, hint="run the command again for those")]
        frames.sort(key=lambda one: self._number(one.worker))
        return [parse_state(one.worker, one.frame.fields) for one in frames]

    def follow(
        self, client: OfferingClient, *, until_end: bool = True
    ) -> Generator[FollowEvent, None, list[WorkerJobState]]:
        """Yield the logs of all workers, beginning with the local copies, and the workers' ends.

        Args:
            client: Google's client, which finds out if an unreachable worker is gone.
            until_end: Wait for the job's end; otherwise read only what the logs have now.

        Returns the states of all workers that have one.
        """
        logs = _FollowedLogs(self)
        fields = self._fields("follow", follow=until_end)
        task = _FollowTask(fields, client, logs.sizes(), until_end)
        with contextlib.ExitStack() as stack:
            stack.callback(logs.close)
            yield from logs.read_known()
            tasks = stack.enter_context(self._running(task, at_a_time=len(self.workers)))
            events = stack.enter_context(contextlib.closing(tasks.events()))
            for event in events:
                if isinstance(event, WorkerFrame):
                    yield from logs.take(event.worker, event.frame, is_end=until_end)
                elif event.error and not tasks.stopping.is_set():
                    yield ConnectionChanged(event.worker.label, event.error.what, is_final=True)
        return [logs.states[worker] for worker in self.workers if worker in logs.states]

    def read_states(self) -> tuple[list[WorkerJobState], dict[Worker, CallError]]:
        """Return the states of the workers' jobs by job id, and the workers not reached."""
        found: list[tuple[str, int, WorkerJobState]] = []
        errors: dict[Worker, CallError] = {}
        task = worker_calls.call_once(self._fields("status"))
        with contextlib.closing(self._frames(task, errors)) as frames:
            for one in frames:
                if one.frame.event == "job":
                    state = parse_state(one.worker, one.frame.fields)
                    if job_records.is_job_id(state.job):
                        found.append((state.job, self._number(one.worker), state))
        found.sort(key=lambda row: row[:2])
        return [state for _, _, state in found], errors

    def fetch(self, patterns: Sequence[str], target: Path) -> Generator[FetchedFile, None, None]:
        """Fetch the files that match patterns into one folder per worker; raises Problem."""
        errors: dict[Worker, CallError] = {}
        task = FetchTask(self._fields("fetch", patterns=list(patterns)), target)
        with contextlib.closing(self._frames(task, errors)) as frames:
            for one in frames:
                fields = one.frame.fields
                yield FetchedFile(
                    one.worker.label,
                    Path(str(fields["target"])),
                    int(str(fields["bytes"])),
                    str(fields["sha256"]),
                )
        what = f"the results of `{self.record.id}` could not be fetched from every worker"
        worker_calls.raise_for_workers(errors, what, None)


class _FollowedLogs:
    """A job's local logs, extended with what the workers send."""

    def __init__(self, job: TpuJob) -> None:
        self._record = job.record
        self._logs = {
            worker: JobLog(path) for worker, path in zip(job.workers, job.record.logs, strict=True)
        }
        self._splitters = {worker: LineSplitter() for worker in job.workers}
        self.states: dict[Worker, WorkerJobState] = {}

    def sizes(self) -> dict[Worker, int]:
        """Return the sizes of the local logs, in bytes."""
        return {worker: log.size for worker, log in self._logs.items()}

    def close(self) -> None:
        """Close the files."""
        for log in self._logs.values():
            log.close()

    def read_known(self) -> Iterator[WorkerLogLines]:
        """Yield the complete lines of the local logs; an incomplete one waits for its rest."""
        for worker, log in self._logs.items():
            for data in log.read_known():
                if lines := self._splitters[worker].feed(data):
                    yield WorkerLogLines(worker.label, tuple(lines))

    def take(self, worker: Worker, frame: AnswerFrame, *, is_end: bool) -> Iterator[FollowEvent]:
        """Store one frame of a worker's answer, and yield its events."""
        if frame.event == "log":
            self._logs[worker].write_at(int(str(frame.fields["at"])), frame.data)
            if lines := self._splitters[worker].feed(frame.data):
                yield WorkerLogLines(worker.label, tuple(lines))
        elif frame.event in ("lost", "back"):
            yield ConnectionChanged(worker.label, str(frame.fields.get("what", "")))
        elif frame.event in ("end", "gone"):
            if rest := self._splitters[worker].take_rest():
                yield WorkerLogLines(worker.label, tuple(rest))
            self.states[worker] = self._end_state(worker, frame)
            if is_end:
                yield WorkerJobEnded(self.states[worker])

    def _end_state(self, worker: Worker, frame: AnswerFrame) -> WorkerJobState:
        if frame.event == "end":
            return parse_state(worker, frame.fields)
        why = str(frame.fields["what"])
        return WorkerJobState(worker.label, self._record.id, self._record.tpu, "gone", why=why)


@dataclass(frozen=True)
class _FollowTask:
    """The task that follows a worker's log, reconnecting after lost connections."""

    fields: WorkerFields
    client: OfferingClient
    offsets: dict[Worker, int]
    """The next byte of each worker's log."""
    until_end: bool

    def __call__(
        self, tasks: WorkerTasks, worker: Worker, put: Callable[[AnswerFrame], None]
    ) -> None:
        failures = 0
        while True:
            try:
                call = {**self.fields(worker), "offset": self.offsets[worker]}
                with contextlib.closing(tasks.call(worker, call)) as frames:
                    for frame in frames:
                        if failures:
                            put(AnswerFrame("back", {}))
                            failures = 0
                        if frame.event == "log":
                            self.offsets[worker] = int(str(frame.fields["at"])) + len(frame.data)
                        put(frame)
                        if frame.event == "end":
                            return
                raise CallError("was lost: its connection ended")
            except CallError as error:
                if error.is_refused or tasks.stopping.is_set() or not self.until_end:
                    raise
                if not failures:
                    put(AnswerFrame("lost", {"what": error.what}))
            failures += 1
            if failures > 1 and (gone := explain_lost_worker(self.client, worker)):
                put(AnswerFrame("gone", {"what": gone}))
                return
            tasks.stopping.wait(min(2.0 ** (failures - 1), LONGEST_PAUSE_S))


def explain_lost_worker(client: OfferingClient, worker: Worker) -> str:
    """Return the reason, according to Google, why a worker will not come back; empty if it may.

    A TPU VM that somebody stopped has its disk, and may be started again.
    """
    try:
        node = client.of(worker.node.api).node(worker.node.zone, worker.node.name)
    except CloudProblem:
        return ""
    if node is None or node.created != worker.node.created:
        return f"`{worker.node.name}` no longer exists"
    if worker.node.instances and worker.host not in node.instances:
        return f"`{worker.host}` no longer exists"
    state = resource_states.find_state_meaning(node)
    return f"`{node.name}` is {state.name}" if state.mark == "bad" else ""


def save_job_end(record: JobRecord, states: Sequence[WorkerJobState]) -> JobRecord:
    """Save a job's end, and return its record; raises Problem."""
    is_stopped = any(one.is_stopped for one in states)
    code = find_worst_exit_code(states)
    return job_records.save_job(replace(record, phase="ended", code=code, is_stopped=is_stopped))


def require_no_running_job(job: TpuJob) -> None:
    """Raise Problem if a job still runs on the workers, or a worker was not reached."""
    states, errors = job.read_states()
    what = f"not every worker of `{job.record.tpu}` was reached"
    worker_calls.raise_for_workers(errors, what, None)
    for one in states:
        if one.state == "running":
            raise Problem(
                f"the job `{one.job}` is still running on `{job.record.tpu}`, and only one program "
                "at a time can have its chips",
                hint=f"`tpustarter tpu job stop {job.record.tpu}` ends it",
                code=ExitCode.BUSY,
            )

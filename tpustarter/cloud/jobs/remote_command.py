"""Runs one command on many workers, with one local process for each, and ends them.

At most `CONNECTING` connections are opened at a time. Connected workers all run in parallel,
because a JAX program starts only once every host takes part.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tpustarter.cloud.jobs import connection_failures
from tpustarter.cloud.jobs.connection import environment_variables
from tpustarter.cloud.jobs.worker_output import WorkerLog
from tpustarter.cloud.jobs.worker_threads import WorkerThreads
from tpustarter.core import locations
from tpustarter.core.problem import ExitCode, Problem, find_limit_problem
from tpustarter.running import probe_archive, run_folder
from tpustarter.running.line_splitter import LineSplitter
from tpustarter.running.process import Probe, ProbeGoneEvent, raise_open_file_limit, signal_name

CONNECTED_AFTER_S = 5.0
"""Seconds after which a worker counts as connected; earlier if it has written output."""
LOOK_S = 1.0
"""Longest wait for an event of one process; a stop interrupts it."""
TIMED_OUT = 124
"""Exit code for a timeout, as in `timeout(1)`."""

_TAIL_CHARACTERS = 4000


@dataclass(frozen=True)
class WorkerCommand:
    """The command for one worker."""

    label: str
    words: tuple[str, ...]
    number: int = 0
    """Its index among the commands, which are ordered by slice and worker."""


@dataclass(frozen=True)
class WorkerLines:
    """Lines that a worker wrote, oldest first."""

    command: WorkerCommand
    stream: str
    """`stdout` or `stderr`."""
    lines: tuple[str, ...]


@dataclass(frozen=True)
class WorkerEnded:
    """The end of the command on one worker."""

    command: WorkerCommand
    code: int
    """Exit code as in a shell: 128 plus the number of a signal, 124 for a time-out."""
    what: str
    """The end in words, such as `ended with 1`."""
    was_reachable: bool = True
    """False if the worker is known to have been unreachable or lost."""
    cut_short: bool = False
    """True if this program ended the connection; the command may still be running."""
    fixes: tuple[str, ...] = ()
    """Remedies for a worker that was not reached."""
    left_out: int = 0
    """Number of bytes of its output that were not saved."""


Event = WorkerLines | WorkerEnded


def worst_exit_code(endings: Sequence[WorkerEnded]) -> int:
    """Return the worst exit code, which is the highest."""
    return max((ended.code for ended in endings), default=0)


class RemoteCommand:
    """The processes of one run; `stop` ends them from any thread."""

    def __init__(
        self, commands: Sequence[WorkerCommand], folder: Path, *, timeout_s: float | None = None
    ) -> None:
        """Prepare the run without starting anything.

        Args:
            commands: The commands; the first word of each is an absolute path.
            folder: The folder for one output file per worker.
            timeout_s: Seconds after which commands that still run are ended.
        """
        self._commands = commands
        self._folder = folder
        self._timeout_s = timeout_s
        self._threads = WorkerThreads[Event]()
        self._deadline = float("inf")
        self._archive = Path()

    def stop(self) -> None:
        """End every process with TERM, and KILL after 5 s; safe in threads and signal handlers."""
        self._threads.stop()

    def events(self) -> Generator[Event, None, None]:
        """Yield the workers' lines, and the end of each worker once."""
        raise_open_file_limit(len(self._commands))
        work = run_folder.make_run_folder()
        try:
            self._archive = probe_archive.build_probe_archive(work / "probe.pyz")
            if self._timeout_s is not None:
                self._deadline = time.monotonic() + self._timeout_s
            yield from self._threads.run(self._work, self._commands)
        finally:
            run_folder.remove_run_folder(work)

    def _work(self, command: WorkerCommand) -> None:
        """Run one worker's command, and report its end in any case."""
        ended = WorkerEnded(
            command, ExitCode.BUG, "was not run, as this program broke", was_reachable=False
        )
        try:
            ended = self._run(command)
        except (OSError, Problem) as error:
            limit = find_limit_problem(error)
            what = limit.full_text if limit else str(getattr(error, "full_text", error))
            ended = WorkerEnded(
                command,
                connection_failures.NOT_REACHED,
                f"could not be started: {what}",
                was_reachable=False,
            )
        finally:
            self._threads.put(ended)

    def _run(self, command: WorkerCommand) -> WorkerEnded:
        """Run one worker's process, holding the gate until it is connected."""
        with contextlib.ExitStack() as holds:
            holds.enter_context(self._threads.gate)
            is_stopping = self._threads.stopping.is_set()
            if is_stopping or time.monotonic() > self._deadline:
                code, why = TIMED_OUT, "was not started within the time limit"
                if is_stopping:
                    code, why = ExitCode.INTERRUPTED, "was not started any more"
                return WorkerEnded(command, code, why, was_reachable=False)
            log = WorkerLog(self._folder / f"{command.label.replace('/', '-')}.log")
            with contextlib.closing(log):
                probe = Probe(
                    Path(sys.executable),
                    self._archive,
                    log,
                    env=environment_variables(),
                    drop=locations.find_sudo_caller(),
                    command=command.words,
                    stream=True,
                )
                try:
                    with self._threads.on_stop(probe.interrupt):
                        gone, why = self._follow(command, probe, holds)
                finally:
                    probe.end()
                    probe.close()
                tail = log.read_since(0)[-_TAIL_CHARACTERS:]
                return replace(_ended(command, gone, why, tail), left_out=log.omitted_bytes)

    def _follow(
        self, command: WorkerCommand, probe: Probe, holds: contextlib.ExitStack
    ) -> tuple[ProbeGoneEvent, str]:
        """Forward the output of a process until it ends.

        Returns its `gone` event, and `stopped` or `late` if this program ended it.
        """
        began = time.monotonic()
        lines = {"stdout": LineSplitter(), "stderr": LineSplitter()}
        while True:
            wait_s = min(LOOK_S, self._deadline - time.monotonic())
            event = probe.read(max(0, wait_s))
            is_output = event is not None and event["event"] == "output"
            if is_output or time.monotonic() - began > CONNECTED_AFTER_S:
                holds.close()
            if event and event["event"] == "output":
                self._put_lines(command, event["name"], lines[event["name"]].feed(event["data"]))
            if event and event["event"] == "gone":
                self._put_rests(command, lines)
                return event, ""
            is_stopping = self._threads.stopping.is_set()
            if is_stopping or time.monotonic() >= self._deadline:
                gone = probe.end()
                self._put_rests(command, lines)
                return gone, "stopped" if is_stopping else "late"

    def _put_rests(self, command: WorkerCommand, lines: Mapping[str, LineSplitter]) -> None:
        for name, one in lines.items():
            self._put_lines(command, name, one.take_rest())

    def _put_lines(self, command: WorkerCommand, stream: str, lines: list[str]) -> None:
        if lines:
            self._threads.put(WorkerLines(command, stream, tuple(lines)))


def _ended(command: WorkerCommand, gone: ProbeGoneEvent, why: str, tail: str) -> WorkerEnded:
    code, number = gone["code"], gone["signal"]
    if why == "stopped":
        return WorkerEnded(command, ExitCode.INTERRUPTED, "was stopped", cut_short=True)
    if why == "late":
        return WorkerEnded(command, TIMED_OUT, "was ended at the time limit", cut_short=True)
    if number:
        return WorkerEnded(command, 128 + number, f"was ended by {signal_name(number)}")
    if code is None:
        return WorkerEnded(command, ExitCode.TERMINATED, "was ended from outside")
    if reason := connection_failures.explain_failure(code, tail):
        return WorkerEnded(command, code, reason.what, was_reachable=False, fixes=reason.fixes)
    return WorkerEnded(command, code, f"ended with {code}")

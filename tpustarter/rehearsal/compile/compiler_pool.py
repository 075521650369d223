"""A pool of processes that compile: tasks go in, answers come out as they are ready.

Each process has a thread that feeds it. A second process starts only if there is much to do,
because starting it takes seconds.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from tpustarter.checking.run.probe_session import ProbeSession
from tpustarter.rehearsal.compile import compiler
from tpustarter.rehearsal.compile.compiler import (
    CompileProgress,
    Compiler,
    CompileTask,
    CompileTaskDone,
    RehearsalAnswer,
)

MOST_JOBS = 4
NEXT_JOB_S = 4.0
"""Seconds of work after which another process is worth its start-up time."""
TICK_S = 0.05

JobEvent = CompileProgress | RehearsalAnswer | CompileTaskDone | BaseException
"""An event of a process, or a thread's exception, which the reader of events raises."""


@dataclass
class _Work:
    """State shared by the compiling threads."""

    tasks: queue.SimpleQueue[CompileTask | None] = field(
        default_factory=queue.SimpleQueue["CompileTask | None"]
    )
    events: queue.SimpleQueue[JobEvent | None] = field(
        default_factory=queue.SimpleQueue["JobEvent | None"]
    )
    complete: bool = False
    """True if no more tasks will be added."""
    running: int = 0
    """Number of threads that have not reported their end."""
    began: float | None = None
    """Clock time at which the first task was taken; None before."""

    @property
    def is_exhausted(self) -> bool:
        """True if no work is left for another process."""
        return self.complete and self.tasks.qsize() <= MOST_JOBS  # the rest are end marks

    def is_worth_another(self, wait_s: float) -> bool:
        """Return whether a task waits, and the first was taken at least `wait_s` ago."""
        taken = self.began is not None and time.monotonic() >= self.began + wait_s
        return taken and not self.tasks.empty()


class CompilerPool:
    """The compiling processes; `stop` ends them from any thread and signal handler."""

    def __init__(self) -> None:
        self._work = _Work()
        self._compilers: list[Compiler] = []
        self._threads: list[threading.Thread] = []

    @property
    def first_compiler(self) -> Compiler:
        """The compiler whose thread starts work at once."""
        return self._compilers[0]

    def stop(self) -> None:
        """Interrupt all processes, without waiting for their end."""
        for worker in list(self._compilers):
            worker.stop()

    @contextlib.contextmanager
    def open(
        self, session: ProbeSession, *, jobs: int | None, timeout_s: float, cache: str | None
    ) -> Generator[None]:
        """Create the compilers, and end them and their threads after the block."""
        for _ in range(min(jobs or os.cpu_count() or 1, MOST_JOBS)):
            self._compilers.append(Compiler(session, timeout_s=timeout_s, cache=cache))
        try:
            yield
        finally:
            for worker in self._compilers:
                worker.stop()
                self._work.tasks.put(None)
            for thread in self._threads:
                thread.join(compiler.END_S)
            if not self._threads:
                self.first_compiler.close()

    def start(self, *, at_once: bool) -> None:
        """Start a thread for each process; those after the first wait until there is much to do."""
        self._work.running = len(self._compilers)
        for number, worker in enumerate(self._compilers):
            wait_s = 0.0 if at_once else number * NEXT_JOB_S
            thread = threading.Thread(target=_serve, args=(worker, self._work, wait_s), daemon=True)
            self._threads.append(thread)
            thread.start()

    def add_task(self, task: CompileTask) -> None:
        """Add a task to the queue of the compiling processes."""
        self._work.tasks.put(task)

    def complete(self) -> None:
        """Mark the tasks as complete, so that `read_events` ends after the last answer."""
        for _ in self._compilers:
            self._work.tasks.put(None)
        self._work.complete = True

    def read_events(self) -> Iterator[JobEvent]:
        """Yield the events so far; once the tasks are complete, wait for all others."""
        work = self._work
        with contextlib.suppress(queue.Empty):
            while work.running:
                event = work.events.get(block=work.complete)
                if event is None:
                    work.running -= 1
                else:
                    yield event


def _serve(worker: Compiler, work: _Work, wait_s: float) -> None:
    try:
        while wait_s and not work.is_worth_another(wait_s):
            if worker.stopped or work.is_exhausted:
                break
            time.sleep(TICK_S)
        if not (wait_s and work.is_exhausted):
            while not worker.stopped and (task := work.tasks.get()) is not None:
                work.began = work.began or time.monotonic()
                for event in worker.run(task):
                    work.events.put(event)
                work.events.put(CompileTaskDone(task.name, task.tpu))
        worker.close()
    except BaseException as error:  # noqa: BLE001  the reader of events raises it again
        work.events.put(error)
    finally:
        work.events.put(None)

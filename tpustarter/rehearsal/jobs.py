"""The processes that compile side by side: tasks go in, answers come out as they are ready.

Each process has a thread that feeds it. A second process starts only when there is much to do: its
start costs seconds.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

from tpustarter.checking.session import Session
from tpustarter.rehearsal import compiler
from tpustarter.rehearsal.compiler import Compiler, Finished, Task

MOST_JOBS = 4
NEXT_JOB_S = 4.0
"""Seconds of work after which another process is worth what its start costs."""
TICK_S = 0.05


@dataclass
class _Work:
    """What the threads that compile share."""

    tasks: queue.SimpleQueue[Task | None] = field(default_factory=queue.SimpleQueue["Task | None"])
    told: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue[Any])
    complete: bool = False
    """Whether no task will be added."""
    running: int = 0
    """Threads that have not told their end."""

    @property
    def all_given(self) -> bool:
        """Whether there is nothing to do for another process."""
        return self.complete and self.tasks.qsize() <= MOST_JOBS  # what is left are the ends


class Jobs:
    """The processes that compile. `stop` ends them from any thread and signal handler."""

    def __init__(self) -> None:
        self._work = _Work()
        self._compilers: list[Compiler] = []
        self._threads: list[threading.Thread] = []

    @property
    def first(self) -> Compiler:
        """The process that is there from the start."""
        return self._compilers[0]

    def stop(self) -> None:
        """End them; comes back at once."""
        for worker in list(self._compilers):
            worker.stop()

    @contextlib.contextmanager
    def open(
        self, session: Session, *, jobs: int | None, timeout_s: float, cache: str | None
    ) -> Generator[None]:
        """Have the processes, and end them and their threads in any case."""
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
                self.first.close()

    def start(self, *, at_once: bool) -> None:
        """Start a thread for each process; those after the first only if there is much to do."""
        self._work.running = len(self._compilers)
        for number, worker in enumerate(self._compilers):
            wait_s = 0.0 if at_once else number * NEXT_JOB_S
            thread = threading.Thread(target=_serve, args=(worker, self._work, wait_s), daemon=True)
            self._threads.append(thread)
            thread.start()

    def give(self, task: Task) -> None:
        """Add something to compile."""
        self._work.tasks.put(task)

    def complete(self) -> None:
        """Say that no task will be added: `told` then goes on to the end."""
        for _ in self._compilers:
            self._work.tasks.put(None)
        self._work.complete = True

    def told(self) -> Iterator[Any]:
        """Yield what was told until now; all there will be, once it is complete.

        It may be what a thread raised: whoever reads it raises it again.
        """
        work = self._work
        with contextlib.suppress(queue.Empty):
            while work.running:
                event = work.told.get(block=work.complete)
                if event is None:
                    work.running -= 1
                else:
                    yield event


def _serve(worker: Compiler, work: _Work, wait_s: float) -> None:
    """Compile tasks until there are no more; the body of a thread."""
    try:
        began = time.monotonic()
        while time.monotonic() < began + wait_s and not (worker.stopped or work.all_given):
            time.sleep(TICK_S)
        if not (wait_s and work.all_given):
            while not worker.stopped and (task := work.tasks.get()) is not None:
                for event in worker.run(task):
                    work.told.put(event)
                work.told.put(Finished(task.name, task.tpu))
        worker.close()
    except BaseException as error:  # noqa: BLE001  it is raised again where it is seen
        work.told.put(error)
    finally:
        work.told.put(None)

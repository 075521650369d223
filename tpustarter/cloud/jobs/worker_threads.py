"""Threads that each work for one worker, the events that they put, and their stop."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Generator, Sequence
from typing import Generic, TypeVar

from tpustarter.running.process import END_WAIT_S

CONNECTING = 8
"""Number of workers that may be connecting at a time."""
LOOK_S = 0.2
"""Seconds between two looks of a thread with an event whether events are still read."""

_Worker = TypeVar("_Worker")
_Event = TypeVar("_Event")


class StopFlag:
    """A flag that is set once.

    `threading.Event.set` takes a lock. A handler that interrupts it in the same thread, as a second
    Ctrl-C does, would wait for that lock for ever. `SimpleQueue.put` is reentrant:
    https://docs.python.org/3/library/queue.html#queue.SimpleQueue.put
    """

    def __init__(self) -> None:
        self._is_set = False
        self._waking: queue.SimpleQueue[None] = queue.SimpleQueue()

    def is_set(self) -> bool:
        """Return whether the flag is set."""
        return self._is_set

    def set(self) -> None:
        """Set the flag, and wake all waiting threads; safe in any thread and signal handler."""
        self._is_set = True
        self._waking.put(None)

    def wait(self, limit_s: float) -> None:
        """Wait until the flag is set, at most for `limit_s` seconds."""
        with contextlib.suppress(queue.Empty):
            self._waking.get(timeout=limit_s)
            self._waking.put(None)  # for the next thread


class WorkerThreads(Generic[_Event]):
    """The threads of one run; one holds `gate` until its worker is connected."""

    def __init__(self, at_a_time: int = CONNECTING) -> None:
        self.gate = threading.Semaphore(at_a_time)
        self.stopping = StopFlag()
        self._interrupts: set[Callable[[], None]] = set()
        self._lock = threading.RLock()  # a signal handler may interrupt `stop` to call it again
        self._queue: queue.Queue[_Event | None] = queue.Queue(maxsize=64)
        self._is_abandoned = False

    def stop(self) -> None:
        """Interrupt the work of all threads; safe in any thread and signal handler."""
        self.stopping.set()
        with self._lock:
            for interrupt in self._interrupts:
                interrupt()

    @contextlib.contextmanager
    def on_stop(self, interrupt: Callable[[], None]) -> Generator[None]:
        """Call a function whenever `stop` is called within the block, or was before it."""
        with self._lock:
            self._interrupts.add(interrupt)
        try:
            if self.stopping.is_set():
                interrupt()
            yield
        finally:
            with self._lock:
                self._interrupts.remove(interrupt)

    def put(self, event: _Event | None) -> None:
        """Queue an event; blocks while the queue is full, which slows a fast worker down."""
        while not self._is_abandoned:
            with contextlib.suppress(queue.Full):
                self._queue.put(event, timeout=LOOK_S)
                return

    def run(
        self, work: Callable[[_Worker], None], workers: Sequence[_Worker]
    ) -> Generator[_Event, None, None]:
        """Call a function for each worker, and yield the events until all calls have returned."""
        threads: list[threading.Thread] = []
        try:
            for worker in workers:
                thread = threading.Thread(target=self._work, args=(work, worker), daemon=True)
                thread.start()
                threads.append(thread)
            for _ in threads:
                yield from iter(self._queue.get, None)
        finally:
            self._is_abandoned = True
            self.stop()
            until = time.monotonic() + END_WAIT_S + 1
            for thread in threads:
                thread.join(max(0, until - time.monotonic()))

    def _work(self, work: Callable[[_Worker], None], worker: _Worker) -> None:
        try:
            work(worker)
        finally:
            self.put(None)

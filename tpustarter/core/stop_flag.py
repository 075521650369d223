"""A flag that tells threads to stop, and that a signal handler can set."""

from __future__ import annotations

import contextlib
import queue


class StopFlag:
    """A flag that is set once.

    `threading.Event.set` takes a lock. A handler that interrupts it in the same thread, as a second
    Ctrl-C does, would wait for that lock for ever. `SimpleQueue.put` is reentrant:
    https://docs.python.org/3/library/queue.html#queue.SimpleQueue.put
    """

    def __init__(self) -> None:
        """Create a flag that is not set."""
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

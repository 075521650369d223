"""The output and the ends of workers: filled by a thread, read by a screen.

A worker may write faster than a screen paints, so only the last lines of each are kept here; its
file has all of them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from tpustarter.cloud.jobs.remote_command import Event, WorkerEnded

KEPT_LINES = 500
KEPT_CHARACTERS = 1000
"""Characters of one line; the rest of a longer one is in the file."""


@dataclass
class WorkerStatus:
    """The state of one worker."""

    label: str
    lines: deque[str] = field(default_factory=lambda: deque[str](maxlen=KEPT_LINES))
    """The last lines that it wrote, on either stream."""
    count: int = 0
    """The number of lines that it wrote."""
    ended: WorkerEnded | None = None


class WorkerBoard:
    """The states of all workers of one run."""

    def __init__(self, labels: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._parts = {label: WorkerStatus(label) for label in labels}

    def record_event(self, event: Event) -> None:
        """Record some output of a worker, or its end."""
        with self._lock:
            part = self._parts[event.job.label]
            if isinstance(event, WorkerEnded):
                part.ended = event
                return
            part.count += len(event.lines)
            part.lines.extend(line[:KEPT_CHARACTERS] for line in event.lines[-KEPT_LINES:])

    def read(self) -> list[WorkerStatus]:
        """Return the workers in order, without their lines."""
        with self._lock:
            return [
                WorkerStatus(part.label, count=part.count, ended=part.ended)
                for part in self._parts.values()
            ]

    def lines(self, label: str | None) -> tuple[list[str], int]:
        """Return the last lines of a worker, and the number of lines before them."""
        with self._lock:
            part = self._parts.get(label or "")
            return ([*part.lines], part.count - len(part.lines)) if part else ([], 0)

    @property
    def endings(self) -> list[WorkerEnded]:
        """The ends of the workers that have ended."""
        with self._lock:
            return [part.ended for part in self._parts.values() if part.ended]

"""What workers have written and how they ended: filled by a thread, read by a screen.

A worker may write faster than a screen paints, so only the last lines of each are kept here; its
file has all of them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from tpustarter.cloud.remote import Ended, Event

KEPT_LINES = 500
KEPT_CHARACTERS = 1000
"""Of one line; the rest of a longer one is in the file."""


@dataclass
class Part:
    """One worker."""

    label: str
    lines: deque[str] = field(default_factory=lambda: deque[str](maxlen=KEPT_LINES))
    """The last ones that it wrote, on either stream."""
    count: int = 0
    """How many it wrote."""
    ended: Ended | None = None


class Board:
    """All workers of one run."""

    def __init__(self, labels: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._parts = {label: Part(label) for label in labels}

    def take(self, event: Event) -> None:
        """Note what a worker wrote, or how it ended."""
        with self._lock:
            part = self._parts[event.job.label]
            if isinstance(event, Ended):
                part.ended = event
                return
            part.count += len(event.lines)
            part.lines.extend(line[:KEPT_CHARACTERS] for line in event.lines[-KEPT_LINES:])

    def read(self) -> list[Part]:
        """Return the workers as they stand now, in order; without their lines."""
        with self._lock:
            return [
                Part(part.label, count=part.count, ended=part.ended)
                for part in self._parts.values()
            ]

    def lines(self, label: str | None) -> tuple[list[str], int]:
        """Return the last lines of a worker, and how many were before them."""
        with self._lock:
            part = self._parts.get(label or "")
            return ([*part.lines], part.count - len(part.lines)) if part else ([], 0)

    @property
    def endings(self) -> list[Ended]:
        """How each worker ended that has."""
        with self._lock:
            return [part.ended for part in self._parts.values() if part.ended]

"""Time as an argument, so that a day in the queue passes in a second of a test."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Protocol


class Clock(Protocol):
    """A source of the time, which also waits; a test's clock passes hours at once."""

    def now(self) -> datetime:
        """Return the time in UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Sleep for a number of seconds."""
        ...


class WallClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the time in UTC."""
        return datetime.now(timezone.utc)

    def sleep(self, seconds: float) -> None:
        """Sleep for a number of seconds."""
        time.sleep(seconds)

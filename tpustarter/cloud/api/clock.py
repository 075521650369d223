"""The clock as an argument, so that a test can spend a day in the queue within a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Protocol


class Clock(Protocol):
    """A source of the current time that can also sleep; a test's clock skips hours at once."""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Sleep for a number of seconds."""
        ...


class WallClock:
    """The system clock; `wait` is what sleeps, and may end early."""

    def __init__(self, wait: Callable[[float], object] = time.sleep) -> None:
        self._wait = wait

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(timezone.utc)

    def sleep(self, seconds: float) -> None:
        """Sleep for a number of seconds."""
        self._wait(seconds)

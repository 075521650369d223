"""Time as an argument, so that a test lets a day in the queue pass in a second."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Protocol


class Clock(Protocol):
    """What tells the time, and lets it pass."""

    def now(self) -> datetime:
        """Return the time, in UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        ...


class WallClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the time, in UTC."""
        return datetime.now(timezone.utc)

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        time.sleep(seconds)


def format_age(seconds: float) -> str:
    """Return a length of time in at most two units: `45 s`, `3 h 10 min`, `2 days 4 h`."""
    minutes, hours, days = int(seconds // 60), int(seconds // 3600), int(seconds // 86400)
    if minutes < 1:
        return f"{max(0, int(seconds))} s"
    if hours < 1:
        return f"{minutes} min"
    if days < 1:
        rest = minutes % 60
        return f"{hours} h {rest} min" if rest else f"{hours} h"
    rest = hours % 24
    unit = "day" if days == 1 else "days"
    return f"{days} {unit} {rest} h" if rest else f"{days} {unit}"

"""A clock in a file, which several processes share and only `sleep` sets forward."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path


class FileClock:
    """A clock that does not advance by itself."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def set(self, time: datetime) -> None:
        """Set the clock."""
        self._path.write_text(time.isoformat())

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.fromisoformat(self._path.read_text())

    def sleep(self, seconds: float) -> None:
        """Advance the clock by some seconds at once."""
        self.set(self.now() + timedelta(seconds=seconds))

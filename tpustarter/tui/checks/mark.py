"""The mark in a list of checks, which follows the run until the user moves it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from tpustarter.tui.checks.run_list import CheckList

SEEN_S = 0.3
"""Seconds after the mark has moved during which a key acts on the row that was marked before."""


class CheckMark:
    """The row that is marked, and the one that was marked a moment ago."""

    def __init__(self) -> None:
        self._marked: str | None = None
        """The row that was marked by the program."""
        self._left, self._left_at = "", 0.0
        """The row marked before that, and the time at which it was left."""

    def is_following(self, chosen: str | None) -> bool:
        """Return whether the mark follows the run: it stops once the user moves it."""
        return chosen in (None, self._marked)

    def find_row(self, known: CheckList, ids: Sequence[str]) -> str | None:
        """Return the row to mark: the check that runs, and after the run the first one."""
        return ids[0] if known.run and ids else known.running

    def record_row(self, chosen: str | None) -> None:
        """Record the row that is marked now."""
        if chosen != self._marked:
            self._left, self._left_at = self._marked or "", time.monotonic()
            self._marked = chosen

    @property
    def seen_row(self) -> str:
        """The row that the user may still take for the marked one; empty after a moment."""
        return self._left if time.monotonic() - self._left_at < SEEN_S else ""

"""The mark in a list of checks: it goes on with the run, until somebody moves it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from tpustarter.tui.check_list import CheckList

SEEN_S = 0.3
"""Seconds for which a key is meant for what was marked before the mark went on."""


class CheckMark:
    """Where the mark is put, and where it was a moment ago."""

    def __init__(self) -> None:
        self._marked: str | None = None
        """What was marked because it ran."""
        self._left, self._left_at = "", 0.0
        """What was marked before that, and until when."""

    def follows(self, chosen: str | None) -> bool:
        """Return whether the mark is where it was put: moving away ends that."""
        return chosen in (None, self._marked)

    def place(self, known: CheckList, ids: Sequence[str]) -> str | None:
        """Return what to mark: the check that runs, and in the end what stands first."""
        return ids[0] if known.run and ids else known.running

    def went_to(self, chosen: str | None) -> None:
        """Note what is marked now."""
        if chosen != self._marked:
            self._left, self._left_at = self._marked or "", time.monotonic()
            self._marked = chosen

    @property
    def seen(self) -> str:
        """What was marked until a moment ago: nobody has seen yet that the mark went on."""
        return self._left if time.monotonic() - self._left_at < SEEN_S else ""

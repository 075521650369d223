"""One block that was asked for: it runs after those above it that have not run yet."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from tpustarter.learning.block_results import BlockResult
from tpustarter.learning.lesson_process import RunsFirst
from tpustarter.tui.block import BlockView


class Turn:
    """Shows, on the blocks of a page, how far a run is; `is_over` once the asked one has ended."""

    def __init__(self, view: BlockView, views: Sequence[BlockView], *, fresh: bool) -> None:
        self.asked = self.playing = view
        """The block that is to run; the one that runs is that one, or one above it."""
        self.is_over = False
        self._views = views
        self._last_above: BlockView | None = None
        """The block above that ran first, and last of those."""
        self._remaining = 0
        """How many blocks above still run first."""
        self._began = time.monotonic()
        self._fresh = fresh
        """Whether the block that runs had to start the process."""
        view.begin()

    @property
    def ran_above(self) -> bool:
        """Whether blocks above the asked one ran first."""
        return self._last_above is not None

    def tick(self, starting: str) -> None:
        """Say what is waited for; `starting` is what a fresh process is doing."""
        if self.playing is not self.asked:
            count = self._remaining
            above = f"{count} blocks above run first" if count > 1 else "1 block above runs first"
            self.asked.wait(self._seconds, above)
        activity = "" if self.playing.has_output or not self._fresh else starting
        self.playing.wait(self._seconds, activity)

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def sign(self) -> str:
        """What runs and for how long, seen wherever one reads: `RUN block 3 of 9, 12 s`."""
        return f"RUN {self.playing.label.lower()}, {self._seconds:.0f} s"

    def runs_first(self, event: RunsFirst) -> None:
        """Go on with a block above."""
        self._remaining = event.left
        self.playing = next(view for view in self._views if view.block.id == event.block.id)
        self.playing.begin()

    def ended(self, result: BlockResult) -> None:
        """Show how a block ended; after one above, the asked one is next."""
        view, self._fresh = self.playing, False
        if result.id != self.asked.block.id:
            self._last_above, self.playing = view, self.asked
        else:
            self.is_over = True
            if result.reason == "dependency" and self._last_above:
                broken = self._views.index(self._last_above) + 1
                result = replace(result, detail=f"block {broken} above has to work first")
            view = self.asked
        view.end(result)

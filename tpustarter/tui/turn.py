"""One block that was asked for: it runs after those above it that have not run yet.

A block that waits for the learner's code runs nothing: where all down to it run, it is left out.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from tpustarter.learning.block_results import BlockResult
from tpustarter.learning.lesson_process import RunsFirst
from tpustarter.tui.block import BlockView


def last_to_run(here: BlockView, views: Sequence[BlockView]) -> BlockView | None:
    """Return the last block that runs where all down to one are to; None where none does."""
    if not here.code.has_gap:
        return here
    above = [view for view in views[: views.index(here)] if not view.block.is_try]
    return above[-1] if above else None


class Turn:
    """Shows, on the blocks of a page, how far a run is; `is_over` once the asked one has ended."""

    def __init__(
        self, here: BlockView, views: Sequence[BlockView], *, fresh: bool, runs_all: bool = False
    ) -> None:
        """Begin to show a run.

        Args:
            here: The block that the reader asks for.
            views: All blocks of the page, in order.
            fresh: Whether it has to start a process.
            runs_all: Whether all down to the block are to run.
        """
        self.here = here
        self.asked = self.playing = (last_to_run(here, views) if runs_all else None) or here
        """The block that is to run; the one that runs is that one, or one above it."""
        self.is_over = False
        self._runs_all = runs_all
        self._views = views
        self._last_above: BlockView | None = None
        """The block above that ran first, and last of those."""
        self._remaining = 0
        """How many blocks above still run first."""
        self._began = time.monotonic()
        self._fresh = fresh
        """Whether the block that runs had to start the process."""
        self.asked.begin()

    @property
    def ran_above(self) -> bool:
        """Whether blocks above the one that the reader asks for ran first."""
        return self._last_above is not None or self.asked is not self.here

    @property
    def seen(self) -> BlockView:
        """The block of which the reader is to see how it stands at the end."""
        return self.here if self._has_run_through else self.asked

    @property
    def left_out(self) -> str:
        """What is said of blocks that were to run and wait for the learner's code, if any do."""
        if not (self._runs_all and self._has_run_through):
            return ""
        down_to = self._views[: self._views.index(self.here) + 1]
        gaps = [view for view in down_to if view.code.has_gap]
        if gaps == [self.here]:
            return self.here.gap_first
        *others, last = [view.name_on_page for view in gaps] or [""]
        if others:
            blocks = f"{', '.join(others)} and {last}".capitalize()
            return f"{blocks} were left out, because they wait for your code."
        return last and f"{last.capitalize()} was left out, because it waits for your code."

    @property
    def _has_run_through(self) -> bool:
        """Whether all that can run did: none broke, and nobody stopped it."""
        result = self.asked.result
        return self.is_over and result is not None and result.status in ("pass", "fail")

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
            view = self.asked
        view.end(result)

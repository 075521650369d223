"""A run of a requested block and the blocks above it that have not run yet.

A block with a gap cannot run. When all blocks down to it are requested, it is left out.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from tpustarter.learning.run.block_results import BlockResult
from tpustarter.learning.run.lesson_process import EarlierBlockStarted
from tpustarter.text import phrases
from tpustarter.tui.lesson.block.block import BlockView


def find_last_block_to_run(here: BlockView, views: Sequence[BlockView]) -> BlockView | None:
    """Return the last block that can run if all blocks down to `here` are requested, or None."""
    if not here.code.has_gap:
        return here
    above = [view for view in views[: views.index(here)] if not view.block.is_try]
    return above[-1] if above else None


class RunToBlock:
    """The progress of a run of a page's blocks."""

    def __init__(
        self, here: BlockView, views: Sequence[BlockView], *, fresh: bool, runs_all: bool = False
    ) -> None:
        """Show that a run begins.

        Args:
            here: The requested block.
            views: All blocks of the page, in order.
            fresh: Whether the run has to start a process.
            runs_all: Whether to run all blocks down to the requested one.
        """
        self.here = here
        last = find_last_block_to_run(here, views) if runs_all else None
        self.requested_block = self.playing = last or here
        """The last block to run; `playing` is the running block, which may be above it."""
        self.is_over = False
        """True once the last block has ended."""
        self._runs_all = runs_all
        self._views = views
        self._last_above: BlockView | None = None
        """The last block above the requested one that has run in this run."""
        self._remaining = 0
        """Number of blocks that run before the requested one, including the running one."""
        self._began = time.monotonic()
        self._fresh = fresh
        """True if the process had to be started for the running block."""
        self.requested_block.begin()

    @property
    def has_run_above(self) -> bool:
        """True if this run has run blocks above the requested one."""
        return self._last_above is not None or self.requested_block is not self.here

    @property
    def shown_block(self) -> BlockView:
        """The block whose result is scrolled into view at the end."""
        return self.here if self._has_run_through else self.requested_block

    @property
    def omitted_text(self) -> str:
        """A sentence about the blocks left out because of a gap, or ""."""
        if not (self._runs_all and self._has_run_through):
            return ""
        down_to = self._views[: self._views.index(self.here) + 1]
        gaps = [view for view in down_to if view.code.has_gap]
        if gaps == [self.here]:
            return self.here.gap_message
        *others, last = [view.block.name for view in gaps] or [""]
        if others:
            blocks = f"{', '.join(others)} and {last}".capitalize()
            return f"{blocks} were left out, because they wait for your code."
        return last and f"{last.capitalize()} was left out, because it waits for your code."

    @property
    def _has_run_through(self) -> bool:
        """True if all blocks that can run have run, and none raised an error or was stopped."""
        result = self.requested_block.state.result
        return self.is_over and result is not None and result.status in ("pass", "fail")

    def tick(self, starting: str) -> None:
        """Update the run's elapsed time; `starting` describes the start of the process."""
        if self.playing is not self.requested_block:
            count = self._remaining
            above = phrases.format_count(count, "block above runs first", "blocks above run first")
            self.requested_block.wait(self._seconds, above)
        activity = "" if self.playing.has_output or not self._fresh else starting
        self.playing.wait(self._seconds, activity)

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def heading_text(self) -> str:
        """The running block and its elapsed time, for the heading: `RUN block 3 of 9, 12 s`."""
        return f"RUN {self.playing.label.lower()}, {self._seconds:.0f} s"

    def show_earlier_start(self, event: EarlierBlockStarted) -> None:
        """Show that a block above the requested one is running."""
        self._remaining = event.left
        self.playing = next(view for view in self._views if view.block.id == event.block.id)
        self.playing.begin()

    def show_result(self, result: BlockResult) -> None:
        """Show a block's result; after blocks above it, the requested block is next."""
        view, self._fresh = self.playing, False
        if result.id != self.requested_block.block.id:
            self._last_above, self.playing = view, self.requested_block
        else:
            self.is_over = True
            view = self.requested_block
        view.end(result)

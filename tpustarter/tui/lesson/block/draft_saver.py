"""Saving of edited block code: in memory at once, and on disk after a short delay."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from typing import TYPE_CHECKING

from textual.timer import Timer

from tpustarter.core.problem import Problem
from tpustarter.learning.progress import drafts
from tpustarter.learning.progress.drafts import BlockDraft
from tpustarter.tui.app.messages import TYPED
from tpustarter.tui.kit.safe_text import clean_text

if TYPE_CHECKING:
    from tpustarter.learning.content.blocks import Block
    from tpustarter.tui.kit.page import Page

WAIT_S = 0.2
"""Seconds from a key press until the code is written, together with keys pressed in between."""


class DraftSaver:
    """A writer that saves the edited blocks of one lesson after a short delay."""

    def __init__(self, screen: Page, lesson: str) -> None:
        self._screen = screen
        self._lesson = lesson
        self._changes: deque[tuple[str, BlockDraft | None]] = deque()
        """The drafts not on disk yet, added by the app and removed by a worker."""
        self._writing = threading.Lock()
        """Held while drafts are written, so that the latest draft is written last."""
        self._timer: Timer | None = None
        self._was_told = False
        """True if a write error has been shown."""

    def put(self, block: Block, code: str | None) -> None:
        """Save a block's code; None restores the lesson's code."""
        draft = None if code is None else drafts.make_draft(block, code)
        self._screen.tutor.edits[self._lesson, block.id] = draft
        self._changes.append((block.id, draft))
        self._timer = self._timer or self._screen.set_timer(WAIT_S, self._write_soon)

    def _write_soon(self) -> None:
        self._timer = None
        self._screen.run_worker(self._write, thread=True, exit_on_error=False, group=TYPED)

    def _write(self) -> None:
        """Write the drafts; show the first error as a notification, which keeps the focus."""
        try:
            self.flush()
        except Problem as problem:
            if not self._was_told:
                self._was_told = True
                text = f"What you type is not kept when tpustarter ends:\n{problem}"
                self._screen.notify(clean_text(text), severity="error", markup=False, timeout=30)

    def flush(self) -> None:
        """Write all drafts to disk.

        Raises:
            Problem: The drafts cannot be written; they are kept for the next attempt.
        """
        with self._writing:
            taken: list[tuple[str, BlockDraft | None]] = []
            with contextlib.suppress(IndexError):
                while True:
                    taken.append(self._changes.popleft())
            try:
                if taken:
                    drafts.save_drafts(self._lesson, dict(taken))
            except Problem:
                self._changes.extendleft(reversed(taken))
                raise

"""Keeps what is typed into a lesson's blocks: in the app at once, on the disk a moment later."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from typing import TYPE_CHECKING

from textual.timer import Timer

from tpustarter.learning import drafts
from tpustarter.learning.drafts import Draft
from tpustarter.problem import Problem
from tpustarter.tui.messages import TYPED
from tpustarter.tui.plain import plain

if TYPE_CHECKING:
    from tpustarter.learning.blocks import Block
    from tpustarter.tui.screens.page import Page

WAIT_S = 0.2
"""From a key to the disk: what is typed meanwhile is written with it."""


class Typed:
    """The changed blocks of one lesson on their way to the disk."""

    def __init__(self, screen: Page, lesson: str) -> None:
        self._screen = screen
        self._lesson = lesson
        self._changes: deque[tuple[str, Draft | None]] = deque()
        """What is not on the disk yet; filled by keys, emptied by a worker."""
        self._writing = threading.Lock()
        """So that what was typed last is written last."""
        self._timer: Timer | None = None
        self._was_told = False
        """Whether the learner knows that nothing can be written."""

    def put(self, block: Block, code: str | None) -> None:
        """Keep the code of a block; null stands for the lesson's own."""
        draft = None if code is None else drafts.of(block, code)
        self._screen.tutor.edits[self._lesson, block.id] = draft
        self._changes.append((block.id, draft))
        self._timer = self._timer or self._screen.set_timer(WAIT_S, self._write_soon)

    def _write_soon(self) -> None:
        self._timer = None
        self._screen.run_worker(self._write, thread=True, exit_on_error=False, group=TYPED)

    def _write(self) -> None:
        """Write what there is; what goes wrong is told once, and takes no key from the editor."""
        try:
            self.flush()
        except Problem as problem:
            if not self._was_told:
                self._was_told = True
                text = f"What you type is not kept when tpustarter ends:\n{problem}"
                self._screen.notify(plain(text), severity="error", markup=False, timeout=30)

    def flush(self) -> None:
        """Write what there is, and come back when it is on the disk; raises Problem."""
        with self._writing:
            taken: list[tuple[str, Draft | None]] = []
            with contextlib.suppress(IndexError):
                while True:
                    taken.append(self._changes.popleft())
            try:
                if taken:
                    drafts.keep(self._lesson, dict(taken))
            except Problem:
                self._changes.extendleft(reversed(taken))
                raise

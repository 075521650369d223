"""The output and the ends of workers: recorded by a thread, and displayed by a screen.

A worker may write faster than a screen can draw, so only its last lines are kept in memory; its
log file has the others.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from textual import on

from tpustarter.text import phrases
from tpustarter.text.terminal import escape_text
from tpustarter.tui.kit.list_with_details import ListWithDetails
from tpustarter.tui.kit.row_list import Row, RowList
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, StackedText

Ended = TypeVar("Ended")

PAINT_S = 0.2
"""Seconds between two updates of the output."""
KEPT_LINES = 500
KEPT_CHARACTERS = 1000
"""Maximum number of characters of one line; the log file has the rest."""


@dataclass
class WorkerStatus(Generic[Ended]):
    """The state of one worker."""

    label: str
    lines: deque[str] = field(default_factory=lambda: deque[str](maxlen=KEPT_LINES))
    """The last lines that it wrote, on either stream."""
    count: int = 0
    """The number of lines that it wrote."""
    ended: Ended | None = None


class WorkerBoard(Generic[Ended]):
    """The states of all workers of one run."""

    def __init__(self, labels: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._parts: dict[str, WorkerStatus[Ended]] = {
            label: WorkerStatus(label) for label in labels
        }

    def record_lines(self, label: str, lines: Sequence[str]) -> None:
        """Record some output of a worker."""
        with self._lock:
            part = self._parts[label]
            part.count += len(lines)
            part.lines.extend(line[:KEPT_CHARACTERS] for line in lines[-KEPT_LINES:])

    def record_end(self, label: str, ended: Ended) -> None:
        """Record the end of a worker."""
        with self._lock:
            self._parts[label].ended = ended

    def read(self) -> list[WorkerStatus[Ended]]:
        """Return the states of all workers, without their lines."""
        with self._lock:
            return [
                WorkerStatus(part.label, count=part.count, ended=part.ended)
                for part in self._parts.values()
            ]

    def lines(self, label: str | None) -> tuple[list[str], int]:
        """Return the last lines of a worker, and how many lines precede them."""
        with self._lock:
            part = self._parts.get(label or "")
            return ([*part.lines], part.count - len(part.lines)) if part else ([], 0)

    @property
    def endings(self) -> list[Ended]:
        """The ends of the workers that have ended."""
        with self._lock:
            return [part.ended for part in self._parts.values() if part.ended]


class WorkersScreen(ListWithDetails, Generic[Ended]):
    """The list of workers, and the output of the marked one, both from a board."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self._board = WorkerBoard[Ended]()
        self._painted: list[WorkerStatus[Ended]] = []

    def on_mount(self) -> None:
        self.query_one("#details").display = True

    def make_row(self, part: WorkerStatus[Ended]) -> Row:
        """Return the row of a worker."""
        raise NotImplementedError

    def describe_end(self, part: WorkerStatus[Ended]) -> Iterator[LaidOutLines]:
        """Yield the lines below a worker's output, or instead of it."""
        raise NotImplementedError

    def show_workers(self) -> list[WorkerStatus[Ended]]:
        """Redraw the workers that have changed, and return all of them."""
        parts = self._board.read()
        if parts != self._painted:
            before = {part.label: part for part in self._painted}
            rows = self.query_one(RowList)
            if before.keys() != {part.label for part in parts}:
                before = {}
                rows.show(map(self.make_row, parts))
            for part in parts:
                if before and part != before[part.label]:
                    rows.change(self.make_row(part))
            self._painted = parts
            marked = rows.highlighted_id
            now = next((part for part in parts if part.label == marked), None)
            if now != before.get(marked or ""):
                self.show_output()
        self.set_area_title("rows", phrases.format_count(len(parts), "worker") if parts else "")
        return parts

    @on(RowList.OptionHighlighted)
    def show_output(self) -> None:
        """Show the latest output of the marked worker."""
        details = self.query_one("#details")
        was_at_end = details.scroll_y >= details.max_scroll_y - 1
        self.show_details(StackedText(self._output()))
        label = self.query_one(RowList).highlighted_id
        self.set_area_title("details", f"Output of {label}" if label else "")
        if was_at_end or not self.has_class("-details"):
            self.call_after_refresh(details.scroll_end, animate=False)

    def _output(self) -> Iterator[LaidOutLines]:
        label = self.query_one(RowList).highlighted_id
        lines, dropped = self._board.lines(label)
        part = next((part for part in self._board.read() if part.label == label), None)
        if dropped:
            yield HangingText("", f"... {dropped} lines above, which are in its file")
        for line in lines:
            yield HangingText("", escape_text(line.expandtabs()))
        if part:
            end = [*self.describe_end(part)]
            yield from end
            if not lines and not end:
                what = "has written nothing" + ("." if part.ended else " yet.")
                yield HangingText("", f"{label} {what}")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "details" and self.is_mounted and not self.has_class("-details"):
            return bool(self._painted)
        return super().check_action(action, parameters)

"""A block's output, updated while the block runs."""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from tpustarter.learning.run.tracebacks import fold_installed_calls, shorten_code
from tpustarter.tui.kit.safe_text import OutputTail
from tpustarter.tui.kit.text_layout import LaidOutLines

PAUSE_S = 0.1
"""Seconds between two updates, because most updates cause a layout, which delays keys."""
GROWING_LINES = 30
"""Number of lines shown while a block runs; with hundreds, an update would outlast the pause."""


class FoldedOutput(LaidOutLines):
    """Output as text, with tracebacks reduced to the user's lines and Python's markers."""

    def __init__(self, text: str) -> None:
        self.text = fold_installed_calls(text)

    def lines(self, width: int) -> list[Content]:
        return Content(shorten_code(self.text, width)).wrap(max(width, 1))


class PrintedOutput(Static):
    """The last lines of a block's output; hidden if there are none."""

    def __init__(self, will_grow: Callable[[], object]) -> None:
        super().__init__("", classes="output")
        self.display = False
        self._will_grow = will_grow
        """Called before more output is shown."""
        self._tail = OutputTail()
        self._has_more = False
        """True if there is output that is not shown yet."""
        self._shown_height: int | None = None
        """Number of lines shown, or None if any of them is wrapped."""
        self._pause: Timer | None = None
        """The timer for the next update; output waits until it fires."""

    def begin(self) -> None:
        """Clear the output for a new run."""
        self._tail, self._has_more = OutputTail(), False
        self.remove_class("-before")
        self.show_all()

    def show_before(self, text: str) -> None:
        """Show the output of an earlier session until the block runs."""
        self._tail.add(text)
        self.add_class("-before")
        self.show_all()

    @property
    def text(self) -> str:
        """The last lines of the output, including those that are not shown yet."""
        return self._tail.text

    def add(self, text: str) -> None:
        """Append output, and show it unless the last update was less than `PAUSE_S` ago."""
        self._tail.add(text)
        self._has_more = True
        if self._pause is None:
            self.show_rest()

    def show_rest(self) -> None:
        """Show pending output, if there is any, and start the pause."""
        self._pause = None
        if self._has_more:
            self._has_more = False
            self._pause = self.set_timer(PAUSE_S, self.show_rest)
            self._will_grow()
            self._show(self._tail.last(GROWING_LINES))

    def show_all(self) -> None:
        """Show all stored output, at the end of a run."""
        self._has_more = False
        self._show(self._tail.text)

    def _show(self, text: str) -> None:
        printout = FoldedOutput(text)
        height = self._height_of(printout.text)
        keeps_height = self.display and height is not None and height == self._shown_height
        self._shown_height = height
        self.update(printout, layout=not keeps_height)
        self.display = bool(text)

    def _height_of(self, text: str) -> int | None:
        """Return how many lines some text has, or None if any of them would be wrapped."""
        lines = text.split("\n")
        fit = all(cell_len(line) <= self.content_size.width for line in lines)
        return len(lines) if fit else None

    def drop_last(self, line: str) -> None:
        """Remove the last line if it equals `line`, which is shown elsewhere."""
        self._tail.drop_last(line)
        self.show_all()

    def set_title(self, title: str | None) -> None:
        """Set the title above the output; None removes it."""
        self.border_title = f" {title} " if title else None
        self.set_class(bool(title), "-titled")

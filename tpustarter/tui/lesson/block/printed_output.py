"""The output of a block, shown while it runs."""

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
"""Seconds between two updates: most of them lay the page out, and keys wait for that."""
GROWING_LINES = 30
"""Lines shown of output that still grows: with hundreds, an update would take longer than the
pause."""


class Printout(LaidOutLines):
    """Output as text; of a traceback the user's lines, with Python's marks below them."""

    def __init__(self, text: str) -> None:
        self.text = fold_installed_calls(text)

    def lines(self, width: int) -> list[Content]:
        return Content(shorten_code(self.text, width)).wrap(max(width, 1))


class PrintedOutput(Static):
    """The last lines of a block's output; hidden while there are none."""

    def __init__(self, will_grow: Callable[[], object]) -> None:
        super().__init__("", classes="output")
        self.display = False
        self._will_grow = will_grow
        """Called before more is shown."""
        self._tail = OutputTail()
        self._has_more = False
        """True if there is output that is not shown yet."""
        self._shown_height: int | None = None
        """Lines of the shown output; None if one of them is wrapped."""
        self._pause: Timer | None = None
        """The timer of the next update; until then output waits."""

    def begin(self) -> None:
        """Clear the output for another run."""
        self._tail, self._has_more = OutputTail(), False
        self.remove_class("-before")
        self.show_all()

    def show_before(self, text: str) -> None:
        """Show the output of an earlier session, until the block runs."""
        self._tail.add(text)
        self.add_class("-before")
        self.show_all()

    @property
    def text(self) -> str:
        """The last lines of the output, also those that are not shown yet."""
        return self._tail.text

    def add(self, text: str) -> None:
        """Append output, and show it at once unless the last update was a moment ago."""
        self._tail.add(text)
        self._has_more = True
        if self._pause is None:
            self.show_rest()

    def show_rest(self) -> None:
        """Show the end of the output, if some is not shown yet, and start the pause."""
        self._pause = None
        if self._has_more:
            self._has_more = False
            self._pause = self.set_timer(PAUSE_S, self.show_rest)
            self._will_grow()
            self._show(self._tail.last(GROWING_LINES))

    def show_all(self) -> None:
        """Show all output that is kept, at the end of a run."""
        self._has_more = False
        self._show(self._tail.text)

    def _show(self, text: str) -> None:
        printout = Printout(text)
        height = self._height_of(printout.text)
        keeps_height = self.display and height is not None and height == self._shown_height
        self._shown_height = height
        self.update(printout, layout=not keeps_height)
        self.display = bool(text)

    def _height_of(self, text: str) -> int | None:
        """Return the number of lines of a text, or None if one of them would be wrapped."""
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

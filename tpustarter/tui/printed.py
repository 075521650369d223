"""What a block prints, shown while it runs."""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from tpustarter.learning.tracebacks import as_read, with_marks
from tpustarter.tui.lines import Lines
from tpustarter.tui.plain import Tail

PAUSE_S = 0.1
"""Between two looks at it: most lay the page out anew, and keys wait for that."""
GROWING_LINES = 30
"""Of what still grows: with hundreds of them, each look would take longer than the pause."""


class Printout(Lines):
    """What was printed; of a traceback the own lines, with Python's marks below what they mark."""

    def __init__(self, text: str) -> None:
        self.text = as_read(text)

    def lines(self, width: int) -> list[Content]:
        """Return the lines, wrapped."""
        return Content(with_marks(self.text, width)).wrap(max(width, 1))


class Printed(Static):
    """The last lines of it; nothing is shown where nothing was printed."""

    def __init__(self, will_grow: Callable[[], object]) -> None:
        super().__init__("", classes="output")
        self.display = False
        self._will_grow = will_grow
        """Is called before more is shown."""
        self._tail = Tail()
        self._has_more = False
        """Whether something came that is not shown yet."""
        self._shown_height: int | None = None
        """Lines of what is shown, as long as none of them is wrapped."""
        self._pause: Timer | None = None
        """Runs while what comes has to wait."""

    def begin(self) -> None:
        """Show nothing: its block runs anew."""
        self._tail, self._has_more = Tail(), False
        self.remove_class("-before")
        self.show_all()

    def show_before(self, text: str) -> None:
        """Show what it printed before this start, until it runs."""
        self._tail.add(text)
        self.add_class("-before")
        self.show_all()

    @property
    def text(self) -> str:
        """What was printed, as far as it is kept; some of it may not be shown yet."""
        return self._tail.text

    def add(self, text: str) -> None:
        """Take what came; it is shown at once, unless something was a moment ago."""
        self._tail.add(text)
        self._has_more = True
        if self._pause is None:
            self.show_rest()

    def show_rest(self) -> None:
        """Show the end of what is not shown yet, and no more for a moment."""
        self._pause = None
        if self._has_more:
            self._has_more = False
            self._pause = self.set_timer(PAUSE_S, self.show_rest)
            self._will_grow()
            self._show(self._tail.last(GROWING_LINES))

    def show_all(self) -> None:
        """Show all that is kept: no more comes."""
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
        """Return the lines of a text none of which is wrapped; null where one is."""
        lines = text.split("\n")
        fit = all(cell_len(line) <= self.content_size.width for line in lines)
        return len(lines) if fit else None

    def drop_last(self, line: str) -> None:
        """Leave out the last line where it is this one, because it is said elsewhere."""
        self._tail.drop_last(line)
        self.show_all()

    def entitle(self, title: str | None) -> None:
        """Say above it what it is; None where nothing needs to be said."""
        self.border_title = f" {title} " if title else None
        self.set_class(bool(title), "-titled")

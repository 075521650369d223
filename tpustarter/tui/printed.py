"""What a block prints, shown while it runs."""

from __future__ import annotations

from collections.abc import Callable

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from tpustarter.tui.plain import Tail

PAUSE_S = 0.1
"""Between two looks at it: each lays the page out anew, and keys wait for that."""


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
        self._pause: Timer | None = None
        """Runs while what comes has to wait."""

    def begin(self) -> None:
        """Show nothing: its block runs anew."""
        self._tail, self._has_more = Tail(), False
        self.update("")
        self.display = False

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
        """Show what is not shown yet, and no more for a moment."""
        self._pause = None
        if self._has_more:
            self._has_more = False
            self._pause = self.set_timer(PAUSE_S, self.show_rest)
            self._will_grow()
            self.update(Content(self._tail.text))
            self.display = True

    def drop_last(self, line: str) -> None:
        """Leave out the last line where it is this one, because it is said elsewhere."""
        self._tail.drop_last(line)
        self.update(Content(self._tail.text))

    def entitle(self, title: str | None) -> None:
        """Say above it what it is; None where nothing needs to be said."""
        self.border_title = f" {title} " if title else None
        self.set_class(bool(title), "-titled")

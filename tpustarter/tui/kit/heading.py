"""The first line of every screen: the mark, the screen's title, and the machine."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

from tpustarter.text.invocation import NAME
from tpustarter.tui.app.session import find_session
from tpustarter.tui.app.theme import TERMINAL
from tpustarter.tui.kit.text_layout import FRAMED, LaidOutLines, wrap_text

MARK = "⠶⠶"
"""Eight chips, four by two; the first line of every screen begins with them."""
TPU_BADGE = "bold $pass on $pass-ground"
"""The style of a machine with a TPU."""
WRAPPED_SHARE = 0.7
"""The share of the line that a wrapped title may take; the rest is left to the machine."""


class Heading(Widget):
    """The mark, the title, and the machine or the process that holds its device.

    One widget, not one for each part: children would be painted after the screen they head.
    """

    def __init__(self, title: str, *, named: bool = False, wraps: bool = False) -> None:
        """Show a title.

        Args:
            title: The title of the screen.
            named: Show the program's name on a narrow screen, too.
            wraps: Give the title another line in place of cutting it.
        """
        super().__init__()
        self._title, self._named, self._wraps = title, named, wraps
        self._what_runs = ""

    def on_mount(self) -> None:
        self.watch(find_session(self), "place", self._show_place, init=False)

    def _show_place(self) -> None:
        self.refresh()

    def render(self) -> HeadLine:
        app = find_session(self)
        accent = "bold reverse" if app.theme == TERMINAL.name else "bold $background on $key"
        is_named = self._named or app.size.width >= FRAMED
        mark = Content.styled(f" {MARK} {NAME} " if is_named else f" {MARK} ", accent)
        place = app.place
        ways, style = place.texts(), ""
        if self._what_runs:
            ways = [*(f"{self._what_runs}; {way}" for way in ways), self._what_runs]
            style = "bold $key"
        elif place.is_tpu:
            ways, style = [f" {way} " for way in ways], TPU_BADGE
        share = WRAPPED_SHARE if self._wraps else 1.0
        return HeadLine(mark, self._title, [Content.styled(way, style) for way in ways], share)

    def show_running(self, running: str) -> None:
        """Show a note on the running process, such as its time; an empty note removes it."""
        self._what_runs = running
        self.refresh()

    def rename(self, title: str) -> None:
        """Change the title."""
        self._title = title
        self.refresh(layout=self._wraps)


class HeadLine(LaidOutLines):
    """A mark, a title, and at the right the longest of several texts that fits beside them."""

    def __init__(self, mark: Content, title: str, ways: Sequence[Content], share: float) -> None:
        """Lay out the parts in one line.

        Args:
            mark: The beginning of the line.
            title: The title, cut where there is no room, or wrapped if `share` is less than 1.
            ways: Texts for the right side, the longest first.
            share: The share of the line that the title may take.
        """
        self._mark, self._title = mark, Content.styled(title, "bold $key")
        self._ways, self._share = ways, share

    def lines(self, width: int) -> list[Content]:
        mark = self._mark + " "
        room = width - mark.cell_length
        if self._share < 1:
            first, *rest = wrap_text(self._title, min(room, int(width * self._share)))
        else:
            first, rest = self._title.truncate(max(room, 1), ellipsis=True), []
        left = mark + first
        free = width - left.cell_length
        way = next((way for way in self._ways if way.cell_length <= free - 2), Content(""))
        line = left + way.pad_left(max(free - way.cell_length, 0))
        return [line, *(more.pad_left(mark.cell_length) for more in rest)]

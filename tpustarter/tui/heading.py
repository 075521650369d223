"""The first line of every screen: the mark, where one is, and what the machine is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widget import Widget

from tpustarter.invocation import NAME
from tpustarter.tui.lines import FRAMED, Lines, wrapped
from tpustarter.tui.theme import TERMINAL
from tpustarter.tui.widgets import get_app

if TYPE_CHECKING:
    from tpustarter.tui.tutor import Tutor

MARK = "⠶⠶"
"""Eight chips, four by two: with it the first line of every screen begins."""
TPU_BADGE = "bold $pass on $pass-ground"
"""What a machine with a TPU is called on."""
WRAPPED_SHARE = 0.7
"""How much of a line a title that is wrapped takes; the rest is left to the machine."""


class Heading(Widget):
    """The mark, where one is, and what the machine is or who holds it.

    One widget, not one for each part: children would be painted after the screen they head.
    """

    def __init__(self, title: str, *, named: bool = False, wraps: bool = False) -> None:
        """Take where one is.

        Args:
            title: What the screen shows.
            named: Say the program's name on a narrow screen, too.
            wraps: Give the title another line rather than cut it.
        """
        super().__init__()
        self._title, self._named, self._wraps = title, named, wraps
        self._what_runs = ""

    def on_mount(self) -> None:
        """Follow what the app knows."""
        self.watch(get_app(self), "place", self._show_place, init=False)

    def _show_place(self) -> None:
        self.refresh()

    def render(self) -> HeadLine:
        """Return the line, as wide as there is room."""
        app = get_app(self)
        accent = "bold reverse" if app.theme == TERMINAL.name else "bold $background on $key"
        is_named = self._named or app.size.width >= FRAMED
        mark = Content.styled(f" {MARK} {NAME} " if is_named else f" {MARK} ", accent)
        place = cast("Tutor", app).place
        ways, style = ways_to_say(place), ""
        if self._what_runs:
            ways = [*(f"{self._what_runs}; {way}" for way in ways), self._what_runs]
            style = "bold $key"
        elif place.startswith("TPU"):
            ways, style = [f" {way} " for way in ways], TPU_BADGE
        share = WRAPPED_SHARE if self._wraps else 1.0
        return HeadLine(mark, self._title, [Content.styled(way, style) for way in ways], share)

    def show_running(self, running: str) -> None:
        """Say what runs, and for how long; nothing once it has ended."""
        self._what_runs = running
        self.refresh()

    def rename(self, title: str) -> None:
        """Show another title."""
        self._title = title
        self.refresh(layout=self._wraps)


class HeadLine(Lines):
    """A mark, a title, and at the right the longest way to say the rest that fits beside them."""

    def __init__(self, mark: Content, title: str, ways: Sequence[Content], share: float) -> None:
        """Take the parts.

        Args:
            mark: What the line begins with.
            title: Is cut where there is no room, or wrapped where it has less than the whole line.
            ways: To say what stands at the right, the longest first.
            share: Of the line, what the title may take.
        """
        self._mark, self._title = mark, Content.styled(title, "bold $key")
        self._ways, self._share = ways, share

    def lines(self, width: int) -> list[Content]:
        """Return the line, and the rest of a title that is wrapped below it."""
        mark = self._mark + " "
        room = width - mark.cell_length
        if self._share < 1:
            first, *rest = wrapped(self._title, min(room, int(width * self._share)))
        else:
            first, rest = self._title.truncate(max(room, 1), ellipsis=True), []
        left = mark + first
        free = width - left.cell_length
        way = next((way for way in self._ways if way.cell_length <= free - 2), Content(""))
        line = left + way.pad_left(max(free - way.cell_length, 0))
        return [line, *(more.pad_left(mark.cell_length) for more in rest)]


def ways_to_say(place: str) -> list[str]:
    """Return what the machine is, and ever less of it: without a detail, without the last part."""
    first, *rest = place.split(", ")
    brief = first.partition(":")[0]
    parts = [first, *rest]
    fewer = [", ".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]
    return [place, ", ".join([brief, *rest]), *fewer, brief]

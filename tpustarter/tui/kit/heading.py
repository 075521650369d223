"""The first line of every screen, with the logo, the screen's title and the machine."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

from tpustarter.text.invocation import NAME
from tpustarter.tui.app.session import find_session
from tpustarter.tui.app.theme import TERMINAL
from tpustarter.tui.kit.text_layout import FRAMED, LaidOutLines, wrap_text

MARK = "⠶⠶"
"""The logo, eight chips in two rows of four."""
TPU_BADGE = "bold $pass on $pass-ground"
"""The style of the machine's label if the machine has a TPU."""
WRAPPED_SHARE = 0.7
"""The fraction of the line that a wrapped title may use, so that the machine's label fits."""


class Heading(Widget):
    """The logo, the title, and the machine or a running process.

    This is a single widget because child widgets would be painted after the rest of the screen.
    """

    def __init__(self, title: str, *, named: bool = False, wraps: bool = False) -> None:
        """Show a title.

        Args:
            title: The screen's title.
            named: Show the program's name even on a narrow screen.
            wraps: Wrap a long title instead of truncating it.
        """
        super().__init__()
        self._title, self._named, self._wraps = title, named, wraps
        self._what_runs = ""

    def on_mount(self) -> None:
        self.watch(find_session(self), "heading_label", self._show_label, init=False)

    def _show_label(self) -> None:
        self.refresh()

    def render(self) -> HeadingLine:
        app = find_session(self)
        accent = "bold reverse" if app.theme == TERMINAL.name else "bold $background on $key"
        is_named = self._named or app.size.width >= FRAMED
        mark = Content.styled(f" {MARK} {NAME} " if is_named else f" {MARK} ", accent)
        label = app.heading_label
        ways, style = label.texts(), ""
        if self._what_runs:
            ways = [*(f"{self._what_runs}; {way}" for way in ways), self._what_runs]
            style = "bold $key"
        elif label.is_tpu:
            ways, style = [f" {way} " for way in ways], TPU_BADGE
        share = WRAPPED_SHARE if self._wraps else 1.0
        return HeadingLine(mark, self._title, [Content.styled(way, style) for way in ways], share)

    def show_running(self, running: str) -> None:
        """Show a note about the running process, such as its run time; "" removes it."""
        self._what_runs = running
        self.refresh()

    def rename(self, title: str) -> None:
        """Change the title."""
        self._title = title
        self.refresh(layout=self._wraps)


class HeadingLine(LaidOutLines):
    """A logo and a title, followed by the longest of several texts that fits at the right."""

    def __init__(self, mark: Content, title: str, ways: Sequence[Content], share: float) -> None:
        """Lay out the parts in one line.

        Args:
            mark: The logo, at the beginning of the line.
            title: The title, which is wrapped if `share` is less than 1 and truncated otherwise.
            ways: Alternative texts for the right side, the longest first.
            share: The fraction of the line that the title may use.
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

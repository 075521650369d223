"""Code with a mark before each continuation of a wrapped line.

The mark is in the column before the code, which is empty or the last column of the line numbers.
It is never part of code that is run or copied.
"""

from __future__ import annotations

from rich.segment import Segment
from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from textual.widgets import Static

from tpustarter.tui.kit.text_layout import LaidOutLines

GOES_ON = "↳"


def mark_continuation(strip: Strip, column: int) -> Strip:
    """Return a rendered line with the mark in the given column."""
    under = next(iter(strip.crop(column, column + 1)), None)
    mark = Segment(GOES_ON, under.style if under else None)
    return Strip.join([strip.crop(0, column), Strip([mark]), strip.crop(column + 1)])


class CodeText(Static):
    """Code that is only shown, with an empty column to its left."""

    def render_lines(self, crop: Region) -> list[Strip]:
        column = self.gutter.left - 1 - crop.x
        return [
            mark_continuation(strip, column) if column >= 0 and _goes_on(strip) else strip
            for strip in super().render_lines(crop)
        ]


def _goes_on(strip: Strip) -> bool:
    offsets = (segment.style.meta.get("offset") for segment in strip if segment.style)
    return next((x > 0 for x, _ in filter(None, offsets)), False)


class WrappedCode(LaidOutLines):
    """Code after an empty column, or after line numbers like in an editor."""

    def __init__(self, code: Content, *, first_line: int | None = None) -> None:
        self._rows = code.split("\n", allow_blank=True)
        self._first_line = first_line

    def lines(self, width: int) -> list[Content]:
        first_line = self._first_line or 1
        digits = len(str(first_line + len(self._rows) - 1))
        before = 1 if self._first_line is None else digits + 2
        lines: list[Content] = []
        for number, row in enumerate(self._rows, first_line):
            first, *rest = row.wrap(max(width - before, 1)) or [Content("")]
            label = " " if self._first_line is None else f"{number:>{digits}}  "
            lines.append(Content.styled(label, "$muted") + first)
            lines += [Content.styled(GOES_ON.rjust(before), "$muted") + line for line in rest]
        return lines

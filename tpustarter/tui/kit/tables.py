"""Lesson tables, with columns as wide as their content if they fit."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.content import Content
from textual.visual import Visual

from tpustarter.tui.kit.text_layout import LaidOutLines
from tpustarter.tui.terminal.markdown_blocks import CellTable, MarkdownTableCellContents

GAP = 2
"""Spaces between two cells."""
HEADER = "bold underline"


class LessonTable(CellTable):
    """A table that is rendered as one text and laid out for each width."""

    def compose(self) -> ComposeResult:
        yield _TableText(*self.cells())


class _TableText(MarkdownTableCellContents):
    """A table as one text with working links."""

    def __init__(self, headers: Sequence[Content], rows: Sequence[Sequence[Content]]) -> None:
        super().__init__()
        self._rows = TableRows(headers, rows)

    def render(self) -> Visual:
        return self._rows


class TableRows(LaidOutLines):
    """A table's header and rows."""

    def __init__(self, headers: Sequence[Content], rows: Sequence[Sequence[Content]]) -> None:
        self._headers = [header.stylize(HEADER) for header in headers]
        self._rows = [self._headers, *rows]

    def lines(self, width: int) -> list[Content]:
        columns = column_widths(self._rows, width)
        return [line for row in self._rows for line in _row(row, columns)]


def _row(cells: Sequence[Content], columns: Sequence[int]) -> list[Content]:
    texts = [cell.wrap(column) for cell, column in zip(cells, columns, strict=False)]
    lines = list[Content]()
    for number in range(max(map(len, texts), default=0)):
        line = Content("")
        for text, column in zip(texts, columns, strict=False):
            cell = text[number] if number < len(text) else Content("")
            line += cell.pad_right(max(column - cell.cell_length, 0) + GAP)
        lines.append(line.rstrip())
    return lines


def column_widths(rows: Sequence[Sequence[Content]], width: int) -> list[int]:
    """Return the column widths: narrow columns in full, and wide ones sharing the rest.

    No column is narrower than its longest word, unless the words do not fit either.
    """
    count = max(map(len, rows), default=0)
    cells = [[row[number].plain for row in rows if number < len(row)] for number in range(count)]
    wanted = [max(map(cell_len, column)) for column in cells]
    words = [max(map(cell_len, " ".join(column).split()), default=1) for column in cells]
    room = max(width - GAP * (count - 1), count)
    if sum(words) > room:
        words = [min(word, max(room // count, 1)) for word in words]

    def at_most(level: int) -> list[int]:
        return [max(word, min(want, level)) for word, want in zip(words, wanted, strict=True)]

    fitting = (level for level in range(width, 0, -1) if sum(at_most(level)) <= room)
    return at_most(next(fitting, 1))

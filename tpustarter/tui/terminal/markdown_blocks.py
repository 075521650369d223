"""Markdown blocks that Textual (8.2.8) does not export."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets._markdown import (
    MarkdownH1,
    MarkdownH2,
    MarkdownParagraph,
    MarkdownTable,
    MarkdownTableCellContents,
)

__all__ = [
    "CellTable",
    "MarkdownH1",
    "MarkdownH2",
    "MarkdownParagraph",
    "MarkdownTableCellContents",
]


class CellTable(MarkdownTable):
    """A table with access to its cells."""

    def cells(self) -> tuple[Sequence[Content], Sequence[Sequence[Content]]]:
        """Return the header and the rows."""
        return self._get_headers_and_rows()

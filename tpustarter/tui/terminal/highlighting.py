"""A text area with syntax highlighting that does not need tree-sitter."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widgets import TextArea


class HighlightedArea(TextArea):
    """A text area whose highlighting is defined by its subclass."""

    def highlights(self) -> Iterable[tuple[int, int, int, str]]:
        """Return each styled range as `(row, first byte, end byte, style name)`."""
        return ()

    def highlight_again(self) -> None:
        """Update the highlighting of unchanged text after `highlights` has changed."""
        self._build_highlight_map()
        self.refresh()

    def _build_highlight_map(self) -> None:
        super()._build_highlight_map()  # clears the map and the cache of rendered lines
        for row, begin, end, style in self.highlights():
            self._highlights[row].append((begin, end, style))

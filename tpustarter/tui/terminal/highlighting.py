"""A text area that is coloured without tree-sitter."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widgets import TextArea


class HighlightedArea(TextArea):
    """A text area whose subclass says how its text is coloured."""

    def highlights(self) -> Iterable[tuple[int, int, int, str]]:
        """Return rows, their first byte and the byte behind the last, and the name of a style."""
        return ()

    def highlight_again(self) -> None:
        """Colour the same text once more, because `highlights` has changed."""
        self._build_highlight_map()
        self.refresh()

    def _build_highlight_map(self) -> None:
        super()._build_highlight_map()  # empties the map, and the cache of painted lines
        for row, begin, end, style in self.highlights():
            self._highlights[row].append((begin, end, style))

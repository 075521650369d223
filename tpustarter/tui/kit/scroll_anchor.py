"""An anchor that keeps the text at its place when the width of the window changes."""

from __future__ import annotations

from textual.containers import VerticalScroll
from textual.widget import Widget


class Anchor:
    """The place of a widget on a page; call `hold` after each layout."""

    def __init__(self, page: VerticalScroll) -> None:
        self._page = page
        self._width = 0
        """Columns of the page at the last call of `hold`."""
        self._held: Widget | None = None
        self._above = 0.0
        """The share of the page that is above the widget."""
        self._cut = 0.0
        """The share of the widget that is above the page."""

    def hold(self, marked: Widget | None) -> None:
        """Scroll the widget back to its place if the width has changed; else remember its place.

        Args:
            marked: The widget in use, if it is in sight; None for the one at the top of the page.
        """
        page = self._page
        was, self._width = self._width, page.size.width
        if self._held and self._held.is_attached and was and was != self._width:
            region = self._held.virtual_region
            place = region.y + self._cut * region.height - self._above * page.size.height
            page.scroll_to(y=round(place), animate=False, immediate=True)
            return
        top = page.scroll_offset.y
        at_top = (child for child in page.children if child.virtual_region.bottom > top)
        self._held = marked or (next(at_top, None) if top > 0 else None)
        if self._held and page.size.height:
            region = self._held.virtual_region
            self._above = max(region.y - top, 0) / page.size.height
            self._cut = max(top - region.y, 0) / max(region.height, 1)

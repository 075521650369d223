"""Keeps what is read in its place on a page, when the window becomes wider or narrower."""

from __future__ import annotations

from textual.containers import VerticalScroll
from textual.widget import Widget


class Anchor:
    """Remembers where something stands on a page; `hold` is called whenever it was laid out."""

    def __init__(self, page: VerticalScroll) -> None:
        self._page = page
        self._width = 0
        """Columns of the page when that was seen last."""
        self._held: Widget | None = None
        self._above = 0.0
        """How much of the page stands above it."""
        self._cut = 0.0
        """How much of it is above the page."""

    def hold(self, marked: Widget | None) -> None:
        """Bring it back to where it stood where the page has another width now.

        Args:
            marked: What is worked on, if that is in sight; else what stands at the top is held.
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

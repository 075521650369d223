"""What a lesson shows together: a text below its heading."""

from __future__ import annotations

from textual.containers import VerticalScroll
from textual.widget import Widget


def heading_over(page: VerticalScroll, widget: Widget) -> Widget:
    """Return the heading of its section where both fit on the screen, else what was given."""
    first, last = widget.region.bottom - page.size.height, widget.region.y
    headings = [one for one in page.query("MarkdownHeader") if first <= one.region.y <= last]
    return next((one for one in reversed(headings) if one.size.height), widget)

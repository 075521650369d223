"""Finding widgets on a lesson's page, and scrolling to them."""

from __future__ import annotations

import re

from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets.markdown import MarkdownBlock

from tpustarter.text.invocation import format_commands
from tpustarter.tui.lesson.block.block import BlockView
from tpustarter.tui.lesson.page.folded_parts import FigureView
from tpustarter.tui.lesson.page.question import QuestionView


def find_widget(page: Widget, line: str) -> Widget | None:
    """Return the first widget on the page that contains a line of the lesson, or None.

    Headings are searched first if the line is a heading, because text above may mention it.
    """
    letters = {_letters(line), _letters(format_commands(line))} - {""}
    kinds = "MarkdownBlock, BlockView, QuestionView, FigureView"
    headings = [*page.query("MarkdownHeader")] if line.startswith("#") else []
    for widget in [*headings, *page.query(kinds)] if letters else ():
        text = None
        if isinstance(widget, BlockView | QuestionView | FigureView):
            text = widget.text
        elif isinstance(widget, MarkdownBlock):
            text = widget.source
        if any(part in _letters(text or "") for part in letters):
            return widget
    return None


def find_heading_above(page: VerticalScroll, widget: Widget) -> Widget:
    """Return the heading of the widget's section if both fit, otherwise the widget."""
    first, last = widget.region.bottom - page.size.height, widget.region.y
    headings = [one for one in page.query("MarkdownHeader") if first <= one.region.y <= last]
    return next((one for one in reversed(headings) if one.size.height), widget)


def scroll_into_sight(page: VerticalScroll, view: BlockView | QuestionView) -> None:
    """Scroll to a block or question, including the figure above it if both fit."""
    figure = _figure_over(page, view)
    if figure is None:
        page.scroll_to_widget(view, animate=False)
        return
    first = max(page.scroll_offset.y, view.virtual_region.bottom - page.size.height)
    page.scroll_to(y=min(first, figure.virtual_region.y), animate=False)


def _figure_over(page: VerticalScroll, view: BlockView | QuestionView) -> FigureView | None:
    """Return the last figure above a task, if both fit and no other task is between them."""
    if view.parent is not page:
        return None
    above = list(page.children)[: page.children.index(view)]
    kinds = (BlockView, QuestionView, FigureView)
    last = next((one for one in reversed(above) if isinstance(one, kinds)), None)
    if not isinstance(last, FigureView):
        return None
    height = view.virtual_region.bottom - last.virtual_region.y
    return last if height <= page.size.height else None


class ScrollAnchor:
    """An anchor that keeps a widget in place when the page's width changes.

    Call `hold` after each layout.
    """

    def __init__(self, page: VerticalScroll) -> None:
        self._page = page
        self._width = 0
        """The page's width at the last call of `hold`, in columns."""
        self._held: Widget | None = None
        self._above = 0.0
        """The fraction of the visible page above the widget."""
        self._cut = 0.0
        """The fraction of the widget that has scrolled off the top."""

    def hold(self, marked: Widget | None) -> None:
        """Restore the widget's position if the width has changed, or else record it.

        Args:
            marked: The widget in use, if it is in view; None for the one at the top of the page.
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


def _letters(text: str) -> str:
    """Return only the letters and digits of Markdown, casefolded and without link targets."""
    return re.sub(r"[\W_]+", "", re.sub(r"\]\([^)\s]*\)", "", text)).casefold()

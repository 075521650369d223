"""Opens a lesson where it was left: at a heading, a block or a question, not at a pixel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static
from textual.widgets.markdown import MarkdownBlock

from tpustarter.learning import bookmarks
from tpustarter.tui.block import BlockView
from tpustarter.tui.folded import Fold
from tpustarter.tui.lesson_page import LessonPage
from tpustarter.tui.question import QuestionView

WAIT_S = 0.5
"""Seconds from a scroll until the place is remembered."""
LOOK_S = 0.02
"""Between two looks at whether a lesson is laid out."""
WORDS = "You were here. The Home key goes to the beginning."


class Bookmark:
    """Follows where the reader is on a page; `keep` is called with each place to remember."""

    def __init__(self, page: LessonPage, keep: Callable[[str | None], object]) -> None:
        self._page = page
        self._keep = keep
        self._timer: Timer | None = None
        self._place: str | None = None
        """Where the reader is."""
        self._kept: str | None = None
        """What was remembered last."""
        self._widgets: list[Widget] = []
        """What a place can be, in order."""
        self._mark: Static | None = None
        """What says that the reader was here."""
        self._peeked_at: float | None = None
        """Where a search has led; the reader may look round there without losing the place."""

    async def open(self, place: str | None) -> None:
        """Go to a place, and say there why the lesson does not begin at its beginning."""
        self._widgets = _widgets(self._page)
        self._place = self._kept = place
        widget = next((one for one in self._widgets if _name(one) == place), None)
        if place is None or widget is None or widget.parent is None:
            return
        mark = self._mark = Static(Content.styled(WORDS, "$muted"), id="bookmark")
        await cast("Widget", widget.parent).mount(mark, before=widget)
        self._page.call_after_refresh(
            self._page.scroll_to_widget, mark, top=True, animate=False, force=True, immediate=True
        )

    def when_there(self, then: Callable[[], object], looks: int = 50) -> None:
        """Call something once the place is in sight, after so many looks in any case."""
        if looks and not self._is_there():
            self._page.set_timer(LOOK_S, partial(self.when_there, then, looks - 1))
        else:
            then()

    def _is_there(self) -> bool:
        """Return whether the place is in sight; goes there where what stands above it grew."""
        page, mark = self._page, self._mark
        if mark is None or page.region.overlaps(mark.region):
            return True
        page.scroll_to_widget(mark, top=True, animate=False, force=True, immediate=True)
        return False

    def follow(self, *, peeks: bool) -> None:
        """Follow the reader from here on: the page is laid out.

        Args:
            peeks: Whether a search has led here; reading on or working ends that.
        """
        self._peeked_at = self._page.scroll_y if peeks else None
        self._page.watch(self._page, "scroll_y", self._look_soon, init=False)

    def end_peek(self) -> None:
        """Take where the reader is for the place: there is work on it."""
        if self._peeked_at is not None:
            self._peeked_at = None
            self._look_soon()

    def _look_soon(self) -> None:
        self._page.call_after_refresh(self._look)
        if self._timer is None:
            self._timer = self._page.set_timer(WAIT_S, self.remember)

    def _look(self) -> None:
        page, peeked_at = self._page, self._peeked_at
        if not page.is_attached:
            return
        if peeked_at is not None and abs(page.scroll_y - peeked_at) <= page.size.height:
            return
        self._peeked_at = None
        self._place = self.place

    def remember(self) -> None:
        """Remember where the reader is, if that is elsewhere than before."""
        self._timer = None
        if self._place != self._kept:
            self._kept = self._place
            self._keep(self._place)

    @property
    def place(self) -> str | None:
        """The heading, block or question that stands at the top; None at the beginning.

        One that begins in the upper third of the page is what is read now, else it is the last one
        above. A lesson that is done, and was read to its end, begins anew.
        """
        page = self._page
        is_at_end = page.scroll_y >= page.max_scroll_y
        if page.scroll_y <= 0 or (is_at_end and page.is_done):
            return None
        limit = page.region.y + page.region.height // 3
        above = [widget for widget in self._widgets if widget.region.y <= limit]
        return _name(above[-1]) if above else None


def _widgets(page: LessonPage) -> list[Widget]:
    """Return what has a name on a page, in order, without what is folded away."""
    return [
        widget
        for widget in page.query("MarkdownHeader, BlockView, QuestionView")
        if not any(isinstance(parent, Fold) for parent in widget.ancestors)
    ]


def _name(widget: Widget) -> str:
    """Return what tells a widget from others of its lesson, whenever that is opened."""
    if isinstance(widget, BlockView):
        return f"block {widget.block.id}"
    if isinstance(widget, QuestionView):
        return f"question {widget.quiz.id}"
    text = (cast("MarkdownBlock", widget).source or "").strip("# \n")
    return f"heading {text}"[: bookmarks.MOST_LETTERS]

"""A lesson's bookmark, which names a heading, a block or a question, not a line number."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static
from textual.widgets.markdown import MarkdownBlock

from tpustarter.learning.progress import bookmarks
from tpustarter.tui.lesson.block.block import BlockView
from tpustarter.tui.lesson.page.folded_parts import FoldedPart
from tpustarter.tui.lesson.page.lesson_page import LessonPage
from tpustarter.tui.lesson.page.question import QuestionView

WAIT_S = 0.5
"""Seconds from scrolling until the place is saved."""
LOOK_S = 0.02
"""Seconds between two checks of whether the lesson is laid out."""
WORDS = "You were here. The Home key goes to the beginning."


class Bookmark:
    """The reader's place on a page; `keep` is called to save each new place."""

    def __init__(self, page: LessonPage, keep: Callable[[str | None], object]) -> None:
        self._page = page
        self._keep = keep
        self._timer: Timer | None = None
        self._place: str | None = None
        self._kept: str | None = None
        """The last saved place."""
        self._widgets: list[Widget] = []
        """The widgets that a place can name, in order."""
        self._mark: Static | None = None
        """The line that shows the bookmark."""
        self._peeked_at: float | None = None
        """The scroll position of a search result; scrolling near it keeps the bookmark."""

    async def open(self, place: str | None) -> None:
        """Scroll to the saved position, and mark it with a line about the bookmark."""
        self._widgets = _widgets(self._page)
        self._place = self._kept = place
        widget = next((one for one in self._widgets if _name(one) == place), None)
        if place is None or widget is None or not isinstance(widget.parent, Widget):
            return
        mark = self._mark = Static(Content.styled(WORDS, "$muted"), id="bookmark")
        await widget.parent.mount(mark, before=widget)
        self._page.call_after_refresh(
            self._page.scroll_to_widget, mark, top=True, animate=False, force=True, immediate=True
        )

    def call_when_there(self, then: Callable[[], object], looks: int = 50) -> None:
        """Call a function once the bookmark is visible, or after `looks` attempts."""
        if looks and not self._is_there():
            self._page.set_timer(LOOK_S, partial(self.call_when_there, then, looks - 1))
        else:
            then()

    def _is_there(self) -> bool:
        """Return whether the bookmark is in view; if parts above have grown, scroll to it."""
        page, mark = self._page, self._mark
        if mark is None or page.region.overlaps(mark.region):
            return True
        page.scroll_to_widget(mark, top=True, animate=False, force=True, immediate=True)
        return False

    def follow(self, *, peeks: bool) -> None:
        """Start following the reader's scrolling, once the page is laid out.

        Args:
            peeks: Whether the page was opened at a search result, which keeps the bookmark until
                the user reads on or works.
        """
        self._peeked_at = self._page.scroll_y if peeks else None
        self._page.watch(self._page, "scroll_y", self._look_soon, init=False)

    def end_peek(self) -> None:
        """Let the bookmark follow the reader again, after a search."""
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
        """Save the reader's position, if it has changed."""
        self._timer = None
        if self._place != self._kept:
            self._kept = self._place
            self._keep(self._place)

    @property
    def place(self) -> str | None:
        """The heading, block or question at the top of the screen, or None at the beginning.

        This is the last one that begins in or above the upper third of the screen. It is None as
        well at the end of a completed lesson, which then opens at its beginning.
        """
        page = self._page
        is_at_end = page.scroll_y >= page.max_scroll_y
        if page.scroll_y <= 0 or (is_at_end and page.is_done):
            return None
        limit = page.region.y + page.region.height // 3
        above = [widget for widget in self._widgets if widget.region.y <= limit]
        return _name(above[-1]) if above else None


def _widgets(page: LessonPage) -> list[Widget]:
    """Return the widgets that a place can name, without those in folds."""
    return [
        widget
        for widget in page.query("MarkdownHeader, BlockView, QuestionView")
        if not any(isinstance(parent, FoldedPart) for parent in widget.ancestors)
    ]


def _name(widget: Widget) -> str:
    """Return a name for a widget that is stable between sessions."""
    if isinstance(widget, BlockView):
        return f"block {widget.block.id}"
    if isinstance(widget, QuestionView):
        return f"question {widget.quiz.id}"
    source = widget.source if isinstance(widget, MarkdownBlock) else None
    text = (source or "").strip("# \n")
    return f"heading {text}"[: bookmarks.MOST_LETTERS]

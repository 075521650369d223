"""Scrolling that keeps a running block's output in view until the user scrolls or types."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.containers import VerticalScroll

from tpustarter.tui.lesson.block.block import BlockResized, BlockView


class OutputFollower:
    """A follower that scrolls a page along with the output of its running block."""

    def __init__(self, page: VerticalScroll, views: Callable[[], Sequence[BlockView]]) -> None:
        """Follow the blocks of a page; `views` returns them in order."""
        self._page, self._views = page, views
        self._followed_block: BlockView | None = None
        """The block whose last line is kept in view while it prints."""
        self._ended_block: BlockView | None = None
        """The block whose end is kept in view while the page is laid out."""
        self.requested_block: BlockView | None = None
        """The requested block, until it has run; blocks above it may have to run first."""
        self._kept_block: BlockView | None = None
        """The requested block while it keeps its screen position as blocks above it print."""
        self._kept_line = 0.0
        """The distance of that position from the top of the page, in lines."""
        self._followed_to: float | None = None
        """The scroll offset after the last move; if it differs now, the user has scrolled."""

    def stop_following(self) -> None:
        """Stop keeping a block in view, because the user is looking at something else."""
        self._ended_block = self._kept_block = None

    def begin(self, block: BlockView) -> None:
        """Keep the requested block at its screen position while the blocks above it print."""
        self.requested_block = self._kept_block = block
        self._followed_to = self._page.scroll_offset.y
        self._kept_line = block.virtual_region.y - self._followed_to

    @property
    def is_place_kept(self) -> bool:
        """True if the page scrolls with the output above the requested block."""
        return self._kept_block is not None and self._nobody_scrolled

    def _top(self) -> float:
        """Return the scroll offset at which the requested block keeps its screen position."""
        if self._kept_block and self._nobody_scrolled:
            return self._kept_block.virtual_region.y - self._kept_line
        return self._page.scroll_offset.y

    def follow_output(self, message: BlockResized) -> None:
        """Follow a block that printed, if its end was in view and the user is not typing in it."""
        page, view = self._page, message.view
        if self.requested_block not in (None, view):
            return
        in_sight = page.scroll_offset.y + page.size.height
        is_at_end = message.bottom <= in_sight and not self._is_scrolling
        was_followed = self._followed_block is view and self._nobody_scrolled
        if is_at_end:
            self._followed_to = page.scroll_offset.y
        is_kept = self._kept_block is view and self._nobody_scrolled
        is_read = is_at_end or was_followed or is_kept
        self._followed_block = view if is_read and not view.state.is_typed_in else None
        self.follow_soon()

    @property
    def _nobody_scrolled(self) -> bool:
        return self._page.scroll_offset.y == self._followed_to and not self._is_scrolling

    @property
    def _is_scrolling(self) -> bool:
        """True if Textual has not finished a requested scroll."""
        return round(self._page.scroll_target_y) != self._page.scroll_offset.y

    def follow_soon(self) -> None:
        """Follow once the output is laid out, which may be later than the next refresh."""
        if self._followed_block or self._ended_block or self._kept_block:
            self._page.call_after_refresh(self._follow)

    def _follow(self) -> None:
        if self._ended_block and self._nobody_scrolled:
            self.show_end(self._ended_block, was_pushed=True, goes_on=False)
            return
        view = self._followed_block
        if not self._nobody_scrolled:
            return
        if view and view.state.is_busy and not view.state.is_typed_in:
            self._go_to(max(view.virtual_region.bottom - self._page.size.height, self._top()))
        elif self.requested_block:
            self._go_to(self._top())

    def _go_to(self, line: float) -> None:
        self._page.scroll_to(y=line, animate=False, immediate=True)
        self._followed_to = self._page.scroll_offset.y

    def show_end(self, view: BlockView, *, was_pushed: bool, goes_on: bool) -> None:
        """Scroll to a block's end for `LessonPage.show_end`; call this after the layout."""
        page, views, top = self._page, self._views(), self._top()
        focused = next((other for other in views if other.has_focus_within), view)
        if focused is view and (was_pushed or page.region.overlaps(view.region)):
            status = view.query_one(".status").virtual_region.y
            below = view.virtual_region.bottom - page.size.height
            verdict = view.virtual_region.y + view.gutter.top + status - 1
            place = max(min(below, verdict), top)
            self._go_to(min(place, verdict) if self._nobody_scrolled else place)
            self._ended_block = view
            if goes_on:
                page.call_after_refresh(self._mark_next, view)

    def _mark_next(self, view: BlockView) -> None:
        """Focus the next block if its code is in view, or else the block that ran.

        Keys must not act on a block that is out of view, and the output should be read first.
        """
        views = self._views()
        following = views[views.index(view) + 1 :][:1]
        marked = next((other for other in following if other.code_is_seen(self._page.region)), view)
        if not any(other.has_focus_within for other in views):  # else the user is already typing
            self._page.screen.set_focus(marked, scroll_visible=False)

"""The page of a lesson: its text, its blocks, and which of them is marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import cast

from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.widgets.markdown import MarkdownBlock

from tpustarter.tui.block import BlockView
from tpustarter.tui.opened import Opened
from tpustarter.tui.plain import plain_source
from tpustarter.tui.question import QuestionView
from tpustarter.tui.reading import LessonText


class LessonPage(VerticalScroll):
    """The page; it keeps its place while blocks grow."""

    def on_mount(self) -> None:
        """Follow what moves its blocks."""
        self._last: BlockView | None = None
        for name in ("scroll_y", "virtual_size"):
            self.watch(self, name, self.mark_soon, init=False)

    async def show(self, this: Opened, edits: Mapping[str, str], platform: str) -> None:
        """Show a lesson, with what the learner made of its blocks."""
        await self.mount(*_widgets(this, edits, platform))
        self.mark_soon()

    @property
    def views(self) -> list[BlockView]:
        """Its blocks, in order."""
        return list(self.query(BlockView))

    @property
    def edited(self) -> BlockView | None:
        """The block that is typed into."""
        return next((one for one in self.views if one.is_editing), None)

    @property
    def marked(self) -> BlockView | None:
        """The block that keys act on: the one with the focus, else the first one in sight.

        With none in sight it is the one that was used last.
        """
        views = self.views
        seen = [one for one in views if self.region.overlaps(one.region)]
        focused = next((one for one in views if one.has_focus_within or one.has_focus), None)
        if focused and (focused in seen or focused.is_editing):
            return focused
        waiting = [one for one in seen if not (one.result and one.result.status == "pass")]
        return next(iter([*waiting, *seen]), self._last)

    @property
    def asked(self) -> QuestionView | None:
        """The question that a digit answers: the first one in sight that waits, else the first."""
        seen = [one for one in self.query(QuestionView) if self.region.overlaps(one.region)]
        return next(iter([*(one for one in seen if not one.is_answered), *seen]), None)

    def neighbour(self, step: int) -> BlockView:
        """Return the block after the marked one, or the one before it."""
        views, marked = self.views, self.marked
        if marked:
            place = views.index(marked) + step
        else:
            above = sum(1 for one in views if one.region.y < self.region.y)
            place = above if step > 0 else above - 1
        return views[place % len(views)]

    def use(self, view: BlockView) -> None:
        """Remember that a block is worked on."""
        self._last = view

    def on_descendant_focus(self) -> None:
        """Mark the block that has the focus now."""
        focused = (one for one in self.views if one.has_focus_within or one.has_focus)
        self._last = next(focused, self._last)
        self.mark_soon()

    def mark_soon(self) -> None:
        """Mark a block once it is known where they all are."""
        self.call_after_refresh(self._mark)

    def _mark(self) -> None:
        marked = self.marked
        for view in self.views:
            view.set_class(view is marked, "-current")

    def show_end(self, view: BlockView) -> None:
        """Bring into sight how a block ended, unless the reader is elsewhere by now."""
        self.call_after_refresh(self._show_end, view)

    def _show_end(self, view: BlockView) -> None:
        if self.region.overlaps(view.region):
            status = view.query_one(".status").virtual_region_with_margin.y
            below = view.virtual_region.bottom - self.size.height
            top = min(below, view.virtual_region.y + status)
            self.scroll_to(y=max(top, self.scroll_offset.y), animate=False)

    def go_to(self, line: str) -> None:
        """Show the place that holds a line of the lesson."""
        wanted = _letters(line)
        for one in self.query("MarkdownBlock, BlockView, QuestionView") if wanted else ():
            is_own = isinstance(one, BlockView | QuestionView)
            text = one.text if is_own else cast("MarkdownBlock", one).source
            if wanted in _letters(text or ""):
                self.scroll_to_widget(one, top=True, animate=False)
                return


def _widgets(this: Opened, edits: Mapping[str, str], platform: str) -> Iterator[Widget]:
    for one in this.pieces():
        if isinstance(one, str):
            yield Static(Content.styled(one, "dim"), classes="hint")
        elif one.quiz:
            yield QuestionView(one.quiz)
        elif one.block:
            before, edited = this.known.status(one.block), edits.get(one.block.id)
            yield BlockView(one.block, before=before, platform=platform, edited=edited)
        else:
            yield LessonText(plain_source(one.text))
    yield Static(this.ending(), id="ending")


def _letters(text: str) -> str:
    """Return what of a text is left however it is marked up and wrapped."""
    return re.sub(r"[\W_]+", "", re.sub(r"\]\([^)\s]*\)", "", text)).casefold()

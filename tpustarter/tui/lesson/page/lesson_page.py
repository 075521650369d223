"""A lesson's page: its text and blocks, and the marked block, which keys act on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.signal import Signal
from textual.widget import Widget
from textual.widgets import Collapsible, TextArea

from tpustarter.setup.environment.needed_setups import NeededSetup
from tpustarter.tui.app.messages import ProgressSaved
from tpustarter.tui.kit.row_list import get_app
from tpustarter.tui.lesson.block.block import BlockResized, BlockView
from tpustarter.tui.lesson.opened_lesson import OpenedLesson
from tpustarter.tui.lesson.page import page_scrolling
from tpustarter.tui.lesson.page.folded_parts import FoldedPart
from tpustarter.tui.lesson.page.follow_output import OutputFollower
from tpustarter.tui.lesson.page.lesson_end import LessonEndView, SetupLookedFor
from tpustarter.tui.lesson.page.lesson_widgets import KeyHint, make_widgets
from tpustarter.tui.lesson.page.question import QuestionView
from tpustarter.tui.terminal.app_internals import AnyScreen

OVERLAP = 2
"""Lines that stay in view when the reader scrolls down by a screen."""


class BlockMarked(Message):
    """Sent when the page has moved or another block is marked."""


@dataclass(frozen=True)
class UnfinishedItem:
    """A block or question of a lesson that is not done yet."""

    view: BlockView | QuestionView
    is_above: bool
    """True if it is above the reader's position, because everything below is done."""


class LessonPage(VerticalScroll):
    """A scrollable page that keeps its position while blocks grow."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "page_down", show=False),
        Binding("b", "page_up", show=False),
    ]

    _all_tasks: Sequence[tuple[BlockView | QuestionView, list[FoldedPart]]] = ()
    """Each block and question, with the folds that it is in."""
    _folds: Sequence[FoldedPart] = ()
    """Both sequences are cached because every key and every printed line needs them."""

    def on_mount(self) -> None:
        self._last_view: BlockView | None = None
        self._jumped_to: BlockView | QuestionView | None = None
        self._ending: LessonEndView | None = None
        self._following = OutputFollower(self, lambda: self.views)
        self._anchor = page_scrolling.ScrollAnchor(self)
        for name in ("scroll_y", "virtual_size"):
            self.watch(self, name, self.mark_soon, init=False)
        self._is_marking = False
        """True from `mark_soon` until a block is marked."""
        self._laid_out: tuple[object, ...] = ()
        """The scroll offset and sizes at the last layout."""
        after_layout: Signal[AnyScreen] = self.screen.screen_layout_refresh_signal  # pyright: ignore
        after_layout.subscribe(self, self._mark_where_it_is)
        self.watch(self, "virtual_size", self._following.follow_soon, init=False)

    def watch_has_focus(self, _has_focus: bool) -> None:  # noqa: FBT001  Textual's signature
        """Update the style of the page alone, because none below it depends on its focus."""
        get_app(self).stylesheet.update_nodes([self])

    async def show(self, opened: OpenedLesson, platform: str) -> None:
        """Show a lesson with the user's code in its blocks."""
        self._ending = LessonEndView(opened)
        await self.mount(*make_widgets(opened, platform), self._ending)
        self._all_tasks = [
            (view, [one for one in view.ancestors if isinstance(one, FoldedPart)])
            for view in self.walk_children()
            if isinstance(view, BlockView | QuestionView)
        ]
        self._folds = [*self.query(FoldedPart)]
        self.mark_soon()

    @property
    def views(self) -> list[BlockView]:
        """The page's blocks from top to bottom, without those in closed folds."""
        return [view for view in self._tasks() if isinstance(view, BlockView)]

    @property
    def fold_to_open(self) -> FoldedPart | None:
        """The fold that `o` toggles: the first one in view, or else the marked task's hint.

        Closed folds come before open ones.
        """
        folds = [fold for fold in self._folds if self.is_in_sight(fold)]
        closed = [fold for fold in folds if fold.collapsed]
        marked = self.marked_block
        below = [marked.next_help, *marked.help_folds] if marked else []
        return next(filter(None, [*closed, *folds, *below]), None)

    @on(Collapsible.Toggled)
    def show_folded(self, event: Collapsible.Toggled) -> None:
        """Scroll to an opened fold, and update the task whose answer it contains."""
        for view in self.views:
            if event.collapsible in view.help_folds:
                view.show_status()
        if not event.collapsible.collapsed:
            self.stop_following()
            self.call_after_refresh(event.collapsible.scroll_visible, animate=False)
        self.mark_soon()

    @property
    def edited_block(self) -> BlockView | None:
        """The block whose editor is open."""
        return next((view for view in self.views if view.code.is_editing), None)

    @property
    def is_done_typing(self) -> bool:
        """True if the code in the open editor has passed the task."""
        return (
            self.edited_block is not None
            and self.edited_block.block.is_try
            and self.edited_block.state.has_passed
        )

    @property
    def marked_block(self) -> BlockView | None:
        """The block that keys act on.

        This is the focused block if it is in view or being edited, then the requested one, then the
        first block in view, preferably one that has not passed, and finally the last used one.
        """
        views = self.views
        in_sight = [view for view in views if self.is_in_sight(view)]
        focused = self._focused_block
        if focused and (focused in in_sight or focused.code.is_editing):
            return focused
        requested = self._following.requested_block
        if requested and (requested in in_sight or self._following.is_place_kept):
            return requested
        unfinished = [
            view
            for view in in_sight
            if not (view.state.result and view.state.result.status == "pass")
        ]
        return next(iter([*unfinished, *in_sight]), self._last_view)

    @property
    def _focused_block(self) -> BlockView | None:
        focused = self.screen.focused if self.is_attached else None
        around = focused.ancestors_with_self if focused else ()
        return next((view for view in self.views if view in around), None)

    @property
    def current_block(self) -> BlockView | None:
        """The marked block if it is in view, or else the last block above the screen."""
        marked = self.marked_block
        if marked and self.is_in_sight(marked):
            return marked
        return next((view for view in self.views[::-1] if view.region.y < self.region.y), None)

    @property
    def question(self) -> QuestionView | None:
        """The question that a digit answers: the first unanswered one in view, or the first."""
        questions = self._questions
        views = [view for view in questions if self.region.overlaps(view.content_region)]
        return next(iter([*(view for view in views if not view.is_done), *views]), None)

    @property
    def has_open_question(self) -> bool:
        """True if any question has not been answered correctly, in view or not."""
        return any(not view.is_done for view in self._questions)

    @property
    def _questions(self) -> list[QuestionView]:
        return [view for view in self._tasks() if isinstance(view, QuestionView)]

    @property
    def skipped_question(self) -> QuestionView | None:
        """The unanswered question in view that Enter would otherwise skip."""
        view = self.question
        if view is None or view.is_done or view.was_left:
            return None
        block = self.marked_block
        is_first = block and block.region.y < view.region.y and not block.code_is_above(self.region)
        runs_first = is_first and block and not block.state.is_passable
        return None if runs_first else view

    def neighbour(self, step: int) -> BlockView | None:
        """Return the block `step` blocks after the marked one, or None; `step` is 1 or -1."""
        views, marked = self.views, self.marked_block
        if marked:
            index = views.index(marked) + step
        else:
            above = sum(1 for view in views if view.region.y < self.region.y)
            index = above if step > 0 else above - 1
        return views[index] if 0 <= index < len(views) else None

    @property
    def nearest_block(self) -> BlockView | None:
        """The marked block, or if none is marked the next one below, or else the last one above."""
        return self.marked_block or self.neighbour(1) or self.neighbour(-1)

    def next_open(self) -> UnfinishedItem | None:
        """Return the first open item below, or the first one above, or None if all are done."""
        tasks = self._tasks()
        known = filter(None, (self._jumped_to, self.marked_block))
        here = next((view for view in known if self.is_in_sight(view)), None)
        first = tasks.index(here) + 1 if here else 0
        if here is None:
            first = sum(view.region.bottom <= self.region.y for view in tasks)
        below, above = tasks[first:], tasks[:first]
        for views, is_above in ((below, False), (above, True)):
            if view := next((view for view in views if not view.is_done), None):
                self._jumped_to = view
                return UnfinishedItem(view, is_above=is_above)
        return None

    @property
    def has_open(self) -> bool:
        """True if a block has not passed or a question has not been answered correctly."""
        return any(not view.is_done for view in self._tasks())

    def _tasks(self) -> list[BlockView | QuestionView]:
        """Return the blocks and questions from top to bottom, without those in closed folds."""
        return [view for view, folds in self._all_tasks if not any(f.collapsed for f in folds)]

    def bring_into_sight(self, view: BlockView | QuestionView) -> None:
        """Scroll a block or question into view, with the figure above it if both fit."""
        self.call_after_refresh(page_scrolling.scroll_into_sight, self, view)

    def remember_block(self, view: BlockView) -> None:
        """Store a block as the last used one."""
        self._last_view = view
        self.stop_following()

    def begin(self, view: BlockView) -> None:
        """Follow the output of a block that is about to run, and keep the block marked."""
        self._following.begin(view)

    def stop_following(self) -> None:
        """Stop following the running block's output."""
        self._following.stop_following()

    def on_descendant_focus(self) -> None:
        self._last_view = self._focused_block or self._last_view
        self.mark_soon()

    def mark_soon(self) -> None:
        """Mark a block after the next layout, when all positions are known."""
        if not self._is_marking:
            self._is_marking = self.call_after_refresh(self.mark)

    def _mark_where_it_is(self, _screen: object) -> None:
        """Mark a block after a layout that has moved something.

        Textual (8.2.8) may run `call_after_refresh` callbacks before it has scrolled:
        https://github.com/Textualize/textual/issues/1774.
        """
        laid_out = (self.scroll_offset, self.virtual_size, self.size)
        if laid_out != self._laid_out:
            self._laid_out = laid_out
            self.mark()

    def mark(self) -> None:
        """Mark the block that keys act on, where the page is now."""
        self._is_marking = False
        marked = self.marked_block
        self._anchor.hold(marked if marked and self.is_in_sight(marked) else None)
        marked = self.marked_block
        for view in self.views:
            view.set_class(view is marked, "-current")
        self.post_message(BlockMarked())
        if self._ending and self.scroll_y > 0:  # before the layout, the end is at the top
            self._ending.was_seen |= self.region.overlaps(self._ending.region)

    @property
    def end_was_seen(self) -> bool:
        """True if the reader has reached the end of the lesson."""
        ending = self._ending
        return bool(ending and (ending.was_seen or self.region.overlaps(ending.region)))

    @property
    def position_text(self) -> str:
        """The fraction of the page down to the bottom of the screen, as in `38 % read`."""
        seen = self.scroll_offset.y + self.size.height
        return f"{min(100 * seen // max(self.virtual_size.height, 1), 100)} % read"

    @property
    def is_at_end(self) -> bool:
        """True if the reader has reached the end, and the page is scrolled to it."""
        was_seen = self._ending is not None and self._ending.was_seen
        return was_seen and self.scroll_offset.y >= self.max_scroll_y

    @property
    def exercise_in_sight(self) -> str:
        """The name of the last exercise that a hint in view leads to, or ""."""
        hints = [hint for hint in self.query(KeyHint) if hint.exercise and self.is_in_sight(hint)]
        return hints[-1].exercise if hints else ""

    @property
    def has_open_exercise(self) -> bool:
        """True if any of the lesson's exercises is unsolved."""
        return self._ending is not None and self._ending.has_open_exercise

    @property
    def needed_setup(self) -> NeededSetup | None:
        """The set-up without which all blocks are skipped, or None."""
        return self._ending.needed if self._ending and self.views else None

    @property
    def is_done(self) -> bool:
        return self._ending is not None and self._ending.is_done

    def keep_place(self) -> None:
        """Keep the visible lines where they are while blocks above them change their height."""
        top = self.scroll_offset.y
        first = next((child for child in self.children if child.virtual_region.bottom > top), None)
        if self.is_at_end:
            self.call_after_refresh(self.scroll_end, animate=False)
        elif first:
            self.call_after_refresh(self._return_to, first, first.virtual_region.y - top)

    def _return_to(self, first: Widget, below_top: int) -> None:
        place = first.virtual_region.y - below_top
        self.scroll_to(y=place, animate=False, immediate=True)

    def action_page_down(self) -> None:
        self.scroll_page_down(animate=False)

    def action_page_up(self) -> None:
        self.scroll_page_up(animate=False)

    def on_setup_looked_for(self, message: SetupLookedFor) -> None:
        """Hide the sentences about a set-up once it is done."""
        message.stop()
        for hint in self.query(KeyHint):
            hint.display = message.is_needed or not hint.is_setup_offer

    def update_end_panel(self) -> None:
        """Update the panel at the lesson's end. A worker thread may call this."""
        if self._ending:
            self._ending.post_message(ProgressSaved())

    def show_end(self, view: BlockView, *, was_pushed: bool, goes_on: bool = False) -> None:
        """Scroll a block's result into view, unless the reader has scrolled elsewhere.

        Args:
            view: The block.
            was_pushed: Whether output of blocks above, not the reader, moved it out of view.
            goes_on: Whether to focus the next block afterwards.
        """
        self._following.requested_block = None  # from now on, the next block may be marked
        show = self._following.show_end
        self.call_after_refresh(show, view, was_pushed=was_pushed, goes_on=goes_on)

    def is_in_sight(self, widget: Widget) -> bool:
        """Return whether any line of a widget is in view."""
        return self.region.overlaps(widget.region)

    def read_on(self, view: BlockView | None) -> None:
        """Scroll to the next block that has not run, but at most by a screen, to skip no line.

        Args:
            view: The last used block.
        """
        views, height = self.views, self.size.height
        first = 0
        if view and self.is_in_sight(view):
            first = views.index(view) + view.state.is_passable
        following = next(
            (
                other
                for other in views[first:]
                if not other.state.has_ended and other.region.bottom > self.region.y
            ),
            None,
        )
        top = self.scroll_offset.y
        place = top + max(height - OVERLAP, 1)
        if place + OVERLAP >= self.max_scroll_y:  # avoid another key press for a line or two
            place = self.max_scroll_y
        if following:
            region = following.virtual_region
            wanted = min(region.y, region.bottom - height)
            if wanted <= place:
                rest = min(place, region.bottom - height)  # for a block taller than the screen
                place = wanted if wanted > top else max(rest, top)
                self.screen.set_focus(following, scroll_visible=False)
        self.scroll_to(y=place, animate=False)

    def show_answer(self, view: QuestionView) -> None:
        """Scroll a question's answer and the explanation of its verdict into view."""
        self.stop_following()
        self.call_after_refresh(self._show_answer, view)

    def _show_answer(self, view: QuestionView) -> None:
        place, first = view.virtual_region, self.scroll_offset.y
        first = max(first, place.bottom - self.size.height)
        self.scroll_to(y=min(first, place.y), animate=False)

    def on_block_resized(self, message: BlockResized) -> None:
        message.stop()
        if message.draws:
            self.show_end(message.view, was_pushed=False)
        else:
            self._following.follow_output(message)

    def on_text_area_selection_changed(self, message: TextArea.SelectionChanged) -> None:
        line = message.text_area.cursor_screen_offset.y - self.region.y
        if message.text_area.has_focus and not 0 <= line < self.size.height:
            top = self.scroll_offset.y + line - self.size.height // 2
            self.scroll_to(y=max(top, 0), animate=False, immediate=True)

    def go_to(self, line: str) -> None:
        """Scroll to a line of the lesson, with its section heading if both fit."""
        if widget := page_scrolling.find_widget(self, line):
            folds = [one for one in widget.ancestors if isinstance(one, FoldedPart)]
            for fold in folds:
                fold.collapsed = False
            top = widget if folds else page_scrolling.find_heading_above(self, widget)
            self.scroll_to_widget(top, top=True, animate=False, immediate=True)

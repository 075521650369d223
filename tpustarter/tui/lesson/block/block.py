"""A block's widget, which shows the code, output and verdict of a `BlockState`."""

from __future__ import annotations

from collections.abc import Iterable

from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.learning.content.blocks import Block
from tpustarter.learning.drawings.block_drawings import Drawing
from tpustarter.learning.progress.drafts import BlockDraft
from tpustarter.learning.progress.last_outputs import SavedOutput
from tpustarter.learning.run.block_results import BlockResult
from tpustarter.tui.app.session import find_session
from tpustarter.tui.kit import painted_drawings
from tpustarter.tui.kit.editor import FILL_GAP
from tpustarter.tui.kit.text_layout import StackedText, status_word
from tpustarter.tui.lesson.block import block_text
from tpustarter.tui.lesson.block.block_code import BlockCode
from tpustarter.tui.lesson.block.block_state import BlockState, EarlierResult
from tpustarter.tui.lesson.block.block_text import BlockStatusText, QuotedLines
from tpustarter.tui.lesson.block.printed_output import PrintedOutput
from tpustarter.tui.lesson.page.folded_parts import FoldedPart

FEWEST_COLUMNS, MOST_COLUMNS = 40, 98
"""The minimum and maximum width of a drawing."""


class BlockResized(Message):
    """Sent when a running block shows its first drawing or has printed more."""

    def __init__(self, view: BlockView, *, draws: bool) -> None:
        super().__init__()
        self.view, self.draws = view, draws
        self.bottom = view.virtual_region.bottom
        """The row of the block's bottom edge on the page before it grew."""


class BlockView(Vertical, can_focus=True):
    """A block that can be run, edited and reset to the lesson's code."""

    def __init__(
        self,
        block: Block,
        *,
        before: str | None,
        draft_before: str | None = None,
        platform: str | None,
        count: int = 0,
        draft: BlockDraft | None = None,
        is_predicted: bool = False,
        printed_before: SavedOutput | None = None,
    ) -> None:
        super().__init__(classes="block")
        self.block = block
        of_all = f" of {count}" if block.number and count else ""
        self.label = f"{block.title}{of_all}"
        """The block's name with its number, as in `Block 2 of 9`."""
        self.border_title = f"{self.label}: your turn" if block.is_try else self.label
        self._is_predicted = is_predicted
        """True if its expected output is hidden until it has run."""
        self._shown_words: BlockStatusText | None = None
        self.code = BlockCode(block, draft)
        earlier = EarlierResult(before, draft, draft_before, printed_before)
        self.state = BlockState(block, self.code, earlier, platform)
        self._waiting = Content("")
        """The title in its frame while it runs."""
        # They are known before they are composed, which does not happen to a page that is left.
        self._status = Static("", classes="status")
        self._drawing = Static("", classes="drawing")
        self._drawing.display = False
        self._expected = Static("", classes="expected")
        self._last = Static("", classes="last")
        self._printed = PrintedOutput(lambda: self.post_message(BlockResized(self, draws=False)))
        self.help_folds: list[FoldedPart] = []
        """The folds with the lesson's hint and answer, if the block is a task."""

    def compose(self) -> Iterable[Widget]:
        yield self.code
        yield self._status
        yield self._printed
        yield self._drawing
        yield self._expected
        yield self._last

    def on_mount(self) -> None:
        if self.state.kept_result:
            self._printed.show_before(self.state.kept_result.output)
        self.show_status()
        self._show_expected()

    def _show_expected(self) -> None:
        result, platform = self.state.last_result, self.state.platform
        is_kept_back = self._is_predicted and result is None
        told = self.state.shown_difference
        is_told = told is not None and (told.is_only or self.block.is_try)
        content = block_text.format_expected(self.block, platform, result, is_told=is_told)
        content = Content("") if is_kept_back else content
        self._expected.update(QuotedLines(content))
        self._expected.display = bool(content.plain)

    @property
    def text(self) -> str:
        """The lesson's code and expected output."""
        return "\n".join([self.block.code, *(output.text for output in self.block.expected)])

    @property
    def gap_message(self) -> str:
        """The message shown when the user tries to run code with a gap."""
        if self.code.is_editing:
            return FILL_GAP
        return f"{self.label} waits for your code. Press e, and type it in place of ... there."

    async def edit(self) -> None:
        """Open the editor and focus it immediately, so that it receives the next keys."""
        await self.code.edit()
        self.state.was_left = False
        self._show_code()

    def show_typed(self) -> None:
        """Update the status, because the result may belong to other code than the editor's."""
        self.set_class(self.state.has_failed, "-fail")
        self._show_code()

    @property
    def next_help(self) -> FoldedPart | None:
        """The first of the folds with the hint and the answer that is closed, or else None."""
        return next((fold for fold in self.help_folds if fold.collapsed), None)

    def end_edit(self) -> None:
        """Close the editor and keep its code."""
        if self.code.is_editing:
            self._take_focus()
            self.code.end_edit()
            self.state.was_left = self.code.waits_for_change
            self._show_code()

    def reset(self) -> None:
        """Restore the lesson's code."""
        if self.code.is_editing:
            self._take_focus()
        self.code.reset()
        self._show_code()

    def restore(self) -> None:
        """Restore the user's code from before the last reset."""
        self.code.restore()
        self._show_code()

    def _take_focus(self) -> None:
        """Take the focus from the editor before it is removed, or another block would get it."""
        self.screen.set_focus(self, scroll_visible=False)  # keep the result in view

    def _show_code(self) -> None:
        self._paint()
        self.show_status()

    def _paint(self) -> None:
        """Show the code, and mark the line that raised if this code was executed."""
        result = self.state.result
        at = result.traceback_line_numbers if result and self.state.has_ended else ()
        rows = [number - 1 for number in at[:1]]
        self.code.paint(rows, is_done=self.block.is_try and self.state.has_passed)

    def begin(self) -> None:
        """Show the block as running, and clear its output and drawings."""
        self.state.begin()
        self._printed.begin()
        self._drawing.display = False
        self.add_class("-running")
        self.remove_class("-fail")
        self._paint()
        self.wait(0, "")

    def wait(self, seconds: float, activity: str) -> None:
        """Show that the block is running, with the elapsed seconds and the current activity."""
        self._waiting = status_word("run", f"RUN  {seconds:.0f} s") + (
            f"  {activity}" if activity else ""
        )
        self.show_status()

    @property
    def has_output(self) -> bool:
        """True if the current run has printed or drawn anything."""
        return bool(self.output_tail) or self._drawing.display

    @property
    def output_tail(self) -> str:
        """The last lines of the block's output."""
        return self._printed.text

    def add(self, text: str) -> None:
        """Append to the block's output."""
        self._printed.add(text)

    def end(self, result: BlockResult) -> None:
        """Show the result of a run."""
        self._printed.show_all()
        self.state.end(result)
        self.remove_class("-running")
        self.set_class(self.state.has_failed and not self.block.is_try, "-fail")
        if block_text.is_syntax_error(result):
            self._printed.drop_last(result.detail)
        told = self.state.shown_difference
        if told and told.lines == 1 and result.output.rstrip("\n") == told.printed:
            self._printed.display = False
        self._show_drawings(result.drawings)
        self._paint()
        self.show_status()
        self._show_expected()

    def show_drawings(self, drawings: Iterable[Drawing]) -> None:
        """Show the drawings so far; the page scrolls to the first one."""
        is_first = not self._drawing.display
        self._show_drawings(drawings)
        if is_first:
            self.post_message(BlockResized(self, draws=True))

    def _show_drawings(self, drawings: Iterable[Drawing]) -> None:
        width = min(MOST_COLUMNS, max(FEWEST_COLUMNS, self.size.width - 4))
        has_colours = find_session(self).has_colours
        content = painted_drawings.render_drawings(drawings, width, has_colours=has_colours)
        self._drawing.update(content)
        self._drawing.display = bool(content)

    @property
    def is_done(self) -> bool:
        """True if the block has passed, in this session or an earlier one."""
        return self.state.is_done

    def follow(self, *, has_run: bool) -> bool:
        """Show whether the block's variables still exist; return whether this has changed."""
        has_changed = self.state.follow(has_run=has_run)
        if has_changed:
            self.show_status()
        return has_changed

    def show_status(self) -> None:
        """Update the sentences about the block's state and about its hint or answer."""
        words = self._words()
        self._printed.set_title(block_text.output_title(self.state, words))
        if self._shown_words and words.is_like(self._shown_words):
            return  # every update causes a layout of the page
        self._shown_words = words
        self._status.border_title = Content(" ") + words.title + " "
        self._status.update(StackedText(words.note))
        self._status.set_class(bool(words.note), "-noted")
        self._last.update(words.last)
        self._last.display = bool(words.last.plain)

    def code_is_seen(self, seen: Region) -> bool:
        """Return whether the end of the block's code is in view or has scrolled off the top."""
        return self._status.region.y < seen.bottom

    def code_is_above(self, seen: Region) -> bool:
        """Return whether all of the block's code has scrolled off the top."""
        return self._status.region.y < seen.y

    def state_outside(self, seen: Region) -> str:
        """Return the block's name and state if its status line is out of view, or ""."""
        if seen.overlaps(self._status.region):
            return ""
        return f"{self.block.name}: {self._words().state}"

    def _words(self) -> BlockStatusText:
        fold = self.next_help.summary if self.next_help else ""
        return block_text.make_block_status_text(self.state, self._waiting, next_help=fold)

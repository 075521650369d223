"""One block of a lesson: its code, what it prints, and how it ended, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from tpustarter.learning.block_results import BlockResult
from tpustarter.learning.blocks import Block
from tpustarter.learning.drafts import Draft
from tpustarter.learning.drawings import Drawing
from tpustarter.learning.expected import Difference
from tpustarter.learning.printouts import Kept
from tpustarter.tui import block_words, painted
from tpustarter.tui.block_code import BlockCode
from tpustarter.tui.block_words import Quoted, Words
from tpustarter.tui.earlier import Earlier
from tpustarter.tui.editor import FILL_GAP
from tpustarter.tui.folded import Fold
from tpustarter.tui.lines import Stack, word
from tpustarter.tui.printed import Printed
from tpustarter.tui.tutor import Tutor
from tpustarter.tui.widgets import get_app

FEWEST_COLUMNS, MOST_COLUMNS = 40, 98
"""Of a drawing."""
_EXCEPTION = re.compile(r"(\w+\.)*\w+(Error|Exception)\b")
"""What an expected output begins with where the block prints an exception that it catches."""


class Grew(Message):
    """A block that runs begins to draw, or has printed more."""

    def __init__(self, view: BlockView, *, draws: bool) -> None:
        super().__init__()
        self.view, self.draws = view, draws
        self.bottom = view.virtual_region.bottom
        """Where the block ended on the page before it grew."""


class BlockView(Vertical, can_focus=True):
    """A block that can be run, edited and brought back to what the lesson says."""

    def __init__(
        self,
        block: Block,
        *,
        before: str | None,
        draft_before: str | None = None,
        platform: str | None,
        count: int = 0,
        draft: Draft | None = None,
        is_predicted: bool = False,
        printed_before: Kept | None = None,
    ) -> None:
        super().__init__(classes="block")
        self.block = block
        of_all = f" of {count}" if block.number and count else ""
        self.label = f"{block.title}{of_all}"
        """What it is called: `Block 2 of 9`."""
        self.border_title = f"{self.label}: your turn" if block.is_try else self.label
        self._is_predicted = is_predicted
        """Whether what it prints is kept back until it ran."""
        self._earlier = Earlier(before, draft, draft_before, printed_before)
        self._shown_words: Words | None = None
        self._platform = platform
        self.code = BlockCode(block, draft)
        self._before: BlockResult | None = None
        """How it ended before this start with what it printed, where that is shown."""
        self.was_left = False
        """Whether the learner has left a task as it was: reading on leads past it."""
        self._executed_code = ""
        """The code that `result` tells of."""
        self._is_gone = False
        """Whether the process it ran in has ended."""
        self._waiting = Content("")
        """What is said while it runs."""
        self._printed = Printed(lambda: self.post_message(Grew(self, draws=False)))
        self.answer: Fold | None = None
        """What folds the lesson's answer to this task."""
        self.result: BlockResult | None = None
        self.is_busy = False

    def compose(self) -> Iterable[Widget]:
        """Yield code, status, output and what is expected."""
        yield self.code
        yield Static("", classes="status")
        yield self._printed
        drawing = Static("", classes="drawing")
        drawing.display = False
        yield drawing
        yield Static("", classes="expected")
        yield Static("", classes="last")

    def on_mount(self) -> None:
        """Show how it stands, what it printed before, and what the lesson says it prints."""
        self._before = self._earlier.result(self.block, self.code)
        if self._before:
            self._executed_code = self.code.exact
            self._printed.show_before(self._before.output)
        self._show_status()
        self._show_expected()

    def _show_expected(self) -> None:
        result = self.result or self._before
        is_kept_back = self._is_predicted and result is None
        told = self._told_difference
        is_told = told is not None and (told.is_only or self.block.is_try)
        content = block_words.expected(self.block, self._platform, result, is_told=is_told)
        content = Content("") if is_kept_back else content
        expected = self.query_one(".expected", Static)
        expected.update(Quoted(content))
        expected.display = bool(content.plain)

    @property
    def _told_difference(self) -> Difference | None:
        """What differs from what the lesson says, where its verdict tells that."""
        is_tried = self.code.is_edited and not self.block.is_try
        return self.result.difference if self.result and not is_tried else None

    @property
    def text(self) -> str:
        """What the lesson says here: its code, and what it prints."""
        return "\n".join([self.block.code, *(output.text for output in self.block.expected)])

    @property
    def gap_first(self) -> str:
        """What is said instead of running code with a gap."""
        if self.code.is_editing:
            return FILL_GAP
        return f"{self.label} waits for your code. Press e, and type it in place of ... there."

    @property
    def is_typed_in(self) -> bool:
        """Whether something was typed into it since the run that goes on began."""
        return self.code.is_editing and self.is_busy and self._executed_code != self.code.exact

    async def edit(self) -> None:
        """Let the learner type: what follows this key goes into the editor."""
        await self.code.edit()
        self.was_left = False
        self._show_code()

    def show_typed(self) -> None:
        """Say that what is typed now has not run, or that it is the code that ran."""
        self.set_class(self.has_failed, "-fail")
        self._show_code()

    def answer_turned(self) -> None:
        """Say no longer where the answer is, once it is open."""
        self._show_status()

    def end_edit(self) -> None:
        """Keep what was typed."""
        if self.code.is_editing:
            self._take_focus()
            self.code.end_edit()
            self.was_left = self.code.waits_for_change
            self._show_code()

    def reset(self) -> None:
        """Bring the lesson's code back."""
        if self.code.is_editing:
            self._take_focus()
        self.code.reset()
        self._show_code()

    def restore(self) -> None:
        """Bring back what was typed before that."""
        self.code.restore()
        self._show_code()

    def _take_focus(self) -> None:
        """Take it before the editor goes: else it moves to another block."""
        self.screen.set_focus(self, scroll_visible=False)  # what it ended with stays in sight

    def _show_code(self) -> None:
        self._paint()
        self._show_status()

    def _paint(self) -> None:
        """Show the code with the line marked that raised, as long as it is the code that ran."""
        at = self.result.raised_at if self.result and self.has_ended else ()
        rows = [number - 1 for number in at[:1]]
        self.code.paint(rows, is_done=self.block.is_try and self.has_passed)

    def begin(self) -> None:
        """Show that it runs."""
        self.is_busy, self.result, self._before = True, None, None
        self._executed_code, self._is_gone = self.code.exact, False
        self._printed.begin()
        self.query_one(".drawing").display = False
        self.add_class("-running")
        self.remove_class("-fail")
        self._paint()
        self.wait(0, "")

    def wait(self, seconds: float, activity: str) -> None:
        """Say what is waited for."""
        self._waiting = word("run", f"RUN  {seconds:.0f} s") + (f"  {activity}" if activity else "")
        self._show_status()

    @property
    def has_output(self) -> bool:
        """Whether it has printed or drawn anything yet."""
        return bool(self.printed) or self.query_one(".drawing").display

    @property
    def printed(self) -> str:
        """The last lines of what it has printed."""
        return self._printed.text

    def add(self, text: str) -> None:
        """Take what it printed since; the page follows its end."""
        self._printed.add(text)

    def end(self, result: BlockResult) -> None:
        """Show how it ended."""
        self._printed.show_all()
        self.is_busy, self.result = False, result
        self._earlier.ended(result, self.code)
        self.remove_class("-running")
        self.set_class(self.has_failed and not self.block.is_try, "-fail")
        if block_words.tells_syntax(result):
            self._printed.drop_last(result.detail)
        told = self._told_difference
        if told and told.lines == 1 and result.output.rstrip("\n") == told.printed:
            self._printed.display = False
        self._show_drawings(result.drawings)
        self._paint()
        self._show_status()
        self._show_expected()

    def grow(self, drawings: Iterable[Drawing]) -> None:
        """Show what it has drawn so far; the first time the page brings that into sight."""
        is_first = not self.query_one(".drawing").display
        self._show_drawings(drawings)
        if is_first:
            self.post_message(Grew(self, draws=True))

    def _show_drawings(self, drawings: Iterable[Drawing]) -> None:
        """Draw what it left, as wide as there is room."""
        width = min(MOST_COLUMNS, max(FEWEST_COLUMNS, self.size.width - 4))
        has_colours = cast("Tutor", get_app(self)).has_colours
        content = painted.drawings(drawings, width, has_colours=has_colours)
        widget = self.query_one(".drawing", Static)
        widget.update(content)
        widget.display = bool(content)

    @property
    def has_passed(self) -> bool:
        """Whether it did what it should, as it stands now."""
        result = self.result
        return bool(result and result.status == "pass" and self._executed_code == self.code.exact)

    @property
    def has_ended(self) -> bool:
        """Whether it ran as it stands now, however that ended; one that was stopped did not."""
        result = self.result
        ran = bool(result and result.status != "notrun")
        return ran and self._executed_code == self.code.exact

    @property
    def passed_before(self) -> bool:
        """Whether it passed before, as it stood then: what is typed since undoes nothing."""
        return self._earlier.has_passed

    @property
    def is_done(self) -> bool:
        """Whether it passed, now or in an earlier session."""
        return self.has_passed or self.passed_before

    @property
    def leads_on(self) -> bool:
        """Whether reading goes on below it: it ran as it stands, or is a task left or done."""
        is_over = self.code.waits_for_change and self.is_done
        return self.has_ended or self.was_left or is_over

    @property
    def has_failed(self) -> bool:
        """Whether it broke, or printed something else than the lesson says."""
        result = self.result
        if result is None or self._executed_code != self.code.exact:
            return False
        is_answer = self.block.is_try or self.code.is_edited
        return result.status == "error" or (result.status == "fail" and not is_answer)

    def follow(self, *, has_run: bool) -> bool:
        """Say whether the names it made are still there; returns whether that is another now."""
        was_gone, self._is_gone = self._is_gone, self._made_names and not has_run
        if self._is_gone != was_gone:
            self._show_status()
        return self._is_gone != was_gone

    @property
    def _made_names(self) -> bool:
        """Whether it ran, to its end or until it was stopped."""
        result = self.result
        if result is None:
            return False
        was_stopped = result.reason == "interrupted" and result.seconds > 0
        return was_stopped or result.status in ("pass", "fail", "error")

    def _show_status(self) -> None:
        words = self._words()
        self._printed.entitle(self._output_title)
        if self._shown_words and words.is_like(self._shown_words):
            return  # each update lays the page out anew
        self._shown_words = words
        status = self.query_one(".status", Static)
        status.border_title = Content(" ") + words.title + " "
        status.update(Stack(words.note))
        status.set_class(bool(words.note), "-noted")
        last = self.query_one(".last", Static)
        last.update(words.last)
        last.display = bool(words.last.plain)

    def code_is_seen(self, seen: Region) -> bool:
        """Return whether the end of its code is in sight, or above that."""
        return self.query_one(".status").region.y < seen.bottom

    def code_is_above(self, seen: Region) -> bool:
        """Return whether its code is out of sight, above, so that nobody would run it now."""
        return self.query_one(".status").region.y < seen.y

    def state_outside(self, seen: Region) -> str:
        """Return how it stands in a few words, where the line that says so is not in sight."""
        if seen.overlaps(self.query_one(".status").region):
            return ""
        state = self._words().title.plain.partition("  ")[0].partition(":")[0]
        return f"{self.name_on_page}: {state}"

    @property
    def name_on_page(self) -> str:
        """What it is called in a sentence: `block 2`."""
        return self.block.name

    @property
    def _output_title(self) -> str | None:
        """What stands above the output where that is not what the code above it printed."""
        result = self.result or self._before
        if result and self._executed_code != self.code.exact:
            if not self.code.is_edited:
                return "output of what you had typed"
            if not self._words().note:  # which says that itself
                return "output before your change"
        return "printed" if self.result and self.result.status == "fail" else None

    def _words(self) -> Words:
        """Return what is said of it now."""
        result = self.result
        if self.is_busy:
            return Words(self._waiting)
        if result is None:
            return Words(Content.styled(self._earlier.words(self.block, self.code), "$muted"))
        is_other = self._executed_code != self.code.exact
        words = block_words.of_result(
            result,
            is_try=self.block.is_try,
            is_edited=self.code.is_edited,
            is_editing=self.code.is_editing,
            is_done=self.is_done,
            has_answer=not is_other and self.answer is not None and self.answer.collapsed,
            shows_error=self._shows_error,
        )
        if is_other:  # why it broke stays: it is being mended
            is_told = bool(words.note) and self.code.is_edited
            note = (Content("Before your change:"), *words.note) if is_told else ()
            return Words(Content.styled(self._earlier.words(self.block, self.code), "$muted"), note)
        if self._is_gone:
            was_stopped = result.reason == "interrupted"
            gone = block_words.gone(was_stopped=was_stopped, is_editing=self.code.is_editing)
            return Words(words.title, (*words.note, gone), words.last)
        return words

    @property
    def _shows_error(self) -> bool:
        """Whether what the lesson says it prints here begins with an exception."""
        expected = self.block.expected_on(self._platform or "any")
        return bool(expected and _EXCEPTION.match(expected.text))

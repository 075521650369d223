"""One block of a lesson: its code, what it prints, and how it ended, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static
from textual.widgets.text_area import Selection

from tpustarter.learning.block_results import BlockResult
from tpustarter.learning.blocks import Block
from tpustarter.learning.drafts import Draft
from tpustarter.learning.drawings import Drawing, draw
from tpustarter.terminal import visible
from tpustarter.tui.editor import Editor
from tpustarter.tui.lines import prose, word
from tpustarter.tui.plain import Tail, plain, plain_source
from tpustarter.tui.reading import coloured

_LABELS = {
    "pass": "pass", "fail": "FAIL", "error": "ERROR", "skip": "skip", "notrun": "NOT RUN",
}  # fmt: skip
FEWEST_COLUMNS, MOST_COLUMNS = 40, 98
"""Of a drawing."""
_EARLIER_LABELS = {
    "pass": "passed the last time", "fail": "failed the last time", "error": "broke the last time",
    "changed": "changed since you ran it",
}  # fmt: skip
"""What is said of a block that ran in an earlier session."""


_GAP = re.compile(r"(?<![\w\"'.\[])\.\.\.(?![\w\"'.])")
"""What stands for code to fill in."""
_EXCEPTION = re.compile(r"(\w+\.)*\w+(Error|Exception)\b")
"""What an expected output begins with where the block shows an exception."""
_CHANGE = re.compile(r"# (change|fill)\b", re.IGNORECASE)
"""What marks a line to change."""


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
        platform: str | None,
        draft: Draft | None = None,
        is_predicted: bool = False,
    ) -> None:
        super().__init__(classes="block")
        self.block = block
        self._is_predicted = is_predicted
        """Whether what it prints is kept back until it ran."""
        self._earlier_status = before
        """How it ended in an earlier session."""
        self._platform = platform
        self._edited = draft.code if draft else None
        self._is_outdated = draft is not None and not draft.fits(block)
        """Whether the lesson has other code by now than the one that was changed."""
        self._editor: Editor | None = None
        self._typed_at: Selection | None = None
        """Where the learner typed last."""
        self._executed_code = ""
        """The code that `result` tells of."""
        self._is_gone = False
        """Whether the process it ran in has ended."""
        self._tail = Tail()
        self.result: BlockResult | None = None
        self.is_busy = False

    def compose(self) -> Iterable[Widget]:
        """Yield code, status, output and what is expected."""
        yield Static(coloured(plain(self.code)), classes="code")
        yield Static(self._status(), classes="status")
        output = Static("", classes="output")
        output.display = False
        yield output
        drawing = Static("", classes="drawing")
        drawing.display = False
        yield drawing
        yield Static("", classes="expected")

    def on_mount(self) -> None:
        """Show what the lesson says it prints."""
        self._show_expected()

    def _show_expected(self) -> None:
        expected, content = self.query_one(".expected", Static), self._expected()
        expected.update(content)
        expected.display = bool(content.plain)

    @property
    def code(self) -> str:
        """What would run now."""
        if self._editor:
            return self._editor.text
        return self.block.code if self._edited is None else self._edited

    @property
    def exact_code(self) -> str:
        """The same; the lesson's own code is not as the editor would show it."""
        return self.code if self.is_edited else self.block.code

    @property
    def text(self) -> str:
        """What the lesson says here: its code, and what it prints."""
        return "\n".join([self.block.code, *(output.text for output in self.block.expected)])

    @property
    def is_edited(self) -> bool:
        """Whether it is no longer what the lesson says."""
        return self.code.rstrip() not in (
            self.block.code.rstrip(),
            plain_source(self.block.code).rstrip(),  # as the editor shows it
        )

    @property
    def has_gap(self) -> bool:
        """Whether it waits for the learner to fill something in, and can't run before that."""
        return self.block.is_try and not self.is_edited and bool(_GAP.search(self.code))

    @property
    def is_editing(self) -> bool:
        """Whether its code can be typed into now."""
        return self._editor is not None

    async def edit(self) -> None:
        """Let the learner type: what follows this key goes into the editor."""
        code = plain_source(self.code)
        code = code.rstrip("\n") if self.block.is_try else code
        editor = self._editor = Editor(code)
        self.query_one(".code").display = False
        place = _place_to_edit(code) if self.block.is_try else None
        end = Selection.cursor(editor.document.end)
        editor.selection = self._typed_at or place or end
        await self.mount(editor, before=0)
        self.screen.set_focus(editor)

    def show_typed(self) -> None:
        """Say that what is typed now has not run, or that it is the code that ran."""
        if not self.is_busy:
            self.set_class(self.has_failed, "-fail")
            self._show_status()

    def end_edit(self) -> None:
        """Keep what was typed."""
        if self._editor:
            self._edited = self._editor.text
            self._typed_at = self._editor.selection
            self._close(self._editor)

    def reset(self) -> None:
        """Bring the lesson's code back."""
        self._edited, self._typed_at, self._is_outdated = None, None, False
        if self._editor:
            self._close(self._editor)
        else:
            self._show_code()

    def _close(self, editor: Editor) -> None:
        self._editor = None
        self.screen.set_focus(self)  # before it goes: else the focus moves to another block
        editor.remove()
        self._show_code()

    def _show_code(self) -> None:
        code = self.query_one(".code", Static)
        code.update(coloured(plain(self.code)))
        code.display = True
        self._show_status()

    def begin(self) -> None:
        """Show that it runs."""
        self.is_busy, self.result, self._tail = True, None, Tail()
        self._executed_code, self._is_gone = self.exact_code, False
        output = self.query_one(".output", Static)
        output.border_title = self._output_title
        output.update("")
        output.display = self.query_one(".drawing").display = False
        self.add_class("-running")
        self.remove_class("-fail")

    def wait(self, seconds: float, activity: str) -> None:
        """Say what is waited for."""
        text = word("run", f"RUN  {seconds:.0f} s  ") + activity
        self.query_one(".status", Static).update(text)

    @property
    def has_output(self) -> bool:
        """Whether it has printed anything yet."""
        return bool(self._tail.text)

    def add(self, text: str) -> None:
        """Show what it printed since; the page follows its end."""
        self.post_message(Grew(self, draws=False))
        self._tail.add(text)
        output = self.query_one(".output", Static)
        output.update(Content(self._tail.text))
        output.display = True

    def end(self, result: BlockResult) -> None:
        """Show how it ended."""
        self.is_busy, self.result = False, result
        self.remove_class("-running")
        self.set_class(self.has_failed and not self.block.is_try, "-fail")
        self._show_drawings(result.drawings)
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
        text = "\n\n".join(plain(draw(drawing, width)) for drawing in drawings)
        widget = self.query_one(".drawing", Static)
        widget.update(Content(text))
        widget.display = bool(text)

    @property
    def has_passed(self) -> bool:
        """Whether it did what it should, as it stands now."""
        result = self.result
        return bool(result and result.status == "pass" and self._executed_code == self.exact_code)

    @property
    def has_ended(self) -> bool:
        """Whether it ran as it stands now, however that ended; one that was stopped did not."""
        result = self.result
        ran = bool(result and result.status != "notrun")
        return ran and self._executed_code == self.exact_code

    @property
    def passed_before(self) -> bool:
        """Whether the lesson's own code passed in an earlier session."""
        return self._earlier_status == "pass"

    @property
    def has_failed(self) -> bool:
        """Whether it broke, or printed something else than the lesson says."""
        result = self.result
        if result is None or self._executed_code != self.exact_code:
            return False
        is_answer = self.block.is_try or self.is_edited
        return result.status == "error" or (result.status == "fail" and not is_answer)

    def follow(self, *, has_run: bool) -> None:
        """Say whether the names it made are still there."""
        ended = self.result is not None and self.result.status in ("pass", "fail", "error")
        gone = ended and not has_run
        if gone != self._is_gone:
            self._is_gone = gone
            self._show_status()

    def _show_status(self) -> None:
        self.query_one(".status", Static).update(self._status())
        self.query_one(".output").border_title = self._output_title

    @property
    def _output_title(self) -> str:
        """What the frame of the output says: whose output it is."""
        result = self.result
        if result and self._executed_code != self.exact_code:
            return "output before your change"
        return "printed" if result and result.status == "fail" else "output"

    def _status(self) -> Content:
        result = self.result
        if result is None or self._executed_code != self.exact_code:
            return Content.styled(f"{self._not_run_label}  ", "$muted")
        if result.status == "notrun":
            return _not_run_status(result)
        details = f"  {result.seconds:.1f} s{_describe_devices(result.ran_on)}"
        details += "; its process has ended" if self._is_gone else ""
        if result.status == "pass":
            raises = "raises, as it should  " if self._raises else ""
            return word("pass", "pass") + f"  {raises}" + details.lstrip()
        if result.status in ("fail", "error") and self.block.is_try:
            first = "" if self.is_edited else "; change it first, with e"
            return word("warn", "not yet") + details + first + _reason(result)
        if result.status == "fail" and self.is_edited:
            return Content(f"ran{details}; it prints something else now")
        return word(result.status, _LABELS[result.status]) + details + _reason(result)

    @property
    def _raises(self) -> bool:
        """Whether what the lesson shows here begins with an exception."""
        expected = self.block.expected_on(self._platform or "any")
        return bool(expected and _EXCEPTION.match(expected.text))

    @property
    def _not_run_label(self) -> str:
        """What is said of code that did not run as it stands."""
        if not self.is_edited:
            return _EARLIER_LABELS.get(self._earlier_status or "", self._invitation)
        if self._is_outdated:
            return "your code, but the lesson has changed since; u brings the lesson's code"
        return "edited, not run yet"

    @property
    def _invitation(self) -> str:
        """What is said of it before it ran."""
        return (
            "your turn: press e to change it, and Ctrl+R to run it"
            if self.block.is_try
            else "not run yet"
        )

    def _expected(self) -> Content:
        """Return what it should print: everywhere before a run, elsewhere after one."""
        result, parts = self.result, list[Content]()
        for output in () if self._is_predicted and result is None else self.block.expected:
            applies = (
                self._platform is not None and self.block.expected_on(self._platform) is output
            )
            if result and result.status != "fail" and (applies or result.status == "error"):
                continue
            if result and result.status == "fail" and not applies:
                continue
            title = f"{'expected' if applies and result else 'prints'}{output.where}"
            text = plain(output.text.rstrip("\n"))
            parts.append(Content.styled(f"{title}:\n", "$muted") + Content.styled(text, "$muted"))
        return Content("\n").join(parts)


def _place_to_edit(code: str) -> Selection | None:
    """Return where a learner is to type: the gap, marked so that typing fills it, or a line."""
    for row, line in enumerate(code.split("\n")):
        if match := _GAP.search(line):
            return Selection((row, match.start()), (row, match.end()))
        if _CHANGE.search(line):
            indent = len(line) - len(line.lstrip())
            return Selection.cursor((row, indent))
    return None


def _not_run_status(result: BlockResult) -> Content:
    if result.reason != "interrupted":
        return word("notrun", "NOT RUN") + visible(f"  {result.detail}")
    if result.seconds:
        return word("notrun", "STOPPED") + f"  {result.seconds:.1f} s, by you"
    return word("notrun", "NOT RUN") + "  stopped by you before it began"


def _reason(result: BlockResult) -> Content:
    """Return the line that says why; the end of a traceback is not said twice."""
    if result.reason == "exception" and result.detail in result.output:
        return Content("")
    reason = (
        "" if result.status in ("fail", "skip") else f"{result.reason or ''}: ".replace("-", " ")
    )
    return Content("\n") + prose(f"{reason}{result.detail}")


def _describe_devices(ran_on: dict[str, Any] | None) -> str:
    """Return where it ran, in words."""
    if not ran_on:
        return ""
    count = ran_on.get("count", 1)
    if ran_on.get("virtual"):
        return f" on {count} virtual CPU devices"
    kind = visible(str(ran_on.get("kind", ran_on.get("platform", ""))))
    return f" on {count} x {kind}" if count != 1 else f" on {kind}"

"""A block's status texts: the title in its frame, and notes about its last run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from textual.content import Content

from tpustarter.checking.results.results import UsedDevices
from tpustarter.learning.content.blocks import ANSWER, HINT, Block
from tpustarter.learning.run.block_results import BlockResult
from tpustarter.learning.run.expected_output import NO_FURTHER, OutputDifference, list_missing_lines
from tpustarter.text import phrases
from tpustarter.text.terminal import cut_text, escape_text
from tpustarter.tui.kit.safe_text import clean_text
from tpustarter.tui.kit.text_layout import HangingText, LaidOutLines, status_word, style_sentence
from tpustarter.tui.lesson.block.block_state import BlockState, CurrentCode

_LABELS = {
    "pass": "pass",
    "fail": "FAIL",
    "error": "ERROR",
    "skip": "skip",
    "notrun": "NOT RUN",
}
NEXT_HELP = {HINT: "For a hint, press", ANSWER: "To see the answer, press"}
"""The start of a sentence for a task that has not passed, by the fold that is opened next."""
STAYS = "It stays done, because it passed before."
"""Shown if a block has passed before, and its edited code omits a line of the lesson's output."""
ENDED = {
    "pass": "passed the last time",
    "fail": "failed the last time",
    "error": "broke the last time",
    "changed": "changed since you ran it",
}
TURN = "your turn"
"""The state of a task that has never run."""
RAN = "ran the last time"
"""The state of edited code whose output differs from the lesson's."""
LACKED = f"{RAN}, without a line that the lesson prints"
"""The state of such code if the block has not passed with other code."""
MOST_OF_LINE = 60
"""Maximum length of an output line quoted in a sentence."""


@dataclass(frozen=True)
class BlockStatusText:
    """A block's status texts: the title in its frame, and a note about its last run."""

    state: str
    """The state in a few words."""
    title: Content
    """The title in the block's frame."""
    note: tuple[LaidOutLines | Content, ...] = ()
    """The lines below the title."""
    last: Content = field(default_factory=Content)
    """The line below all output."""

    def is_like(self, other: BlockStatusText) -> bool:
        """Return whether two block texts look the same; texts with notes always differ."""
        pairs = ((self.title, other.title), (self.last, other.last))
        are_like = all(one.plain == two.plain and one.spans == two.spans for one, two in pairs)
        return are_like and not self.note and not other.note


def make_block_status_text(
    state: BlockState, waiting: Content, *, next_help: str
) -> BlockStatusText:
    """Return a block's status texts.

    Args:
        state: The block's state.
        waiting: The title while it runs.
        next_help: The fold that can be opened next, `HINT` or `ANSWER`; or else "".
    """
    result, code = state.result, state.code
    if state.is_busy:
        return BlockStatusText("RUN", waiting)
    if result is None:
        return _before_run(state)
    words = _after_run(state, result, next_help="" if state.is_other_code else next_help)
    if state.is_other_code:  # keep showing the reason while the user fixes the code
        is_told = bool(words.note) and code.is_edited
        note = (Content("Before your change:"), *words.note) if is_told else ()
        return replace(_before_run(state), note=note)
    if state.is_gone:
        was_stopped = result.reason == "interrupted"
        gone = _gone(was_stopped=was_stopped, is_editing=code.is_editing)
        return replace(words, note=(*words.note, gone))
    return words


def output_title(state: BlockState, words: BlockStatusText) -> str | None:
    """Return the output's title, or None for output of the current code that needs none."""
    if state.last_result and state.is_other_code:
        if not state.code.is_edited:
            return "output of what you had typed"
        if not words.note:  # otherwise the note explains it
            return "output before your change"
    return "printed" if state.result and state.result.status == "fail" else None


def _before_run(state: BlockState) -> BlockStatusText:
    """Return the status texts of a block whose current code has not run."""
    text = _last_time(state)
    how = f": {_how(state.code)}" if text == TURN else ""
    return BlockStatusText(text, Content.styled(f"{text}{how}", "$muted"))


def _last_time(state: BlockState) -> str:
    code, earlier, is_try = state.code, state.earlier, state.block.is_try
    if not code.is_edited:
        if is_try and earlier.has_passed:
            return "done before; this is the lesson's code"
        return ENDED.get(earlier.own_status or "", TURN if is_try else "not run yet")
    if code.is_outdated:
        return "your code; the lesson has changed since, and u brings its code"
    ended = earlier.status(code)
    if ended == "fail" and not is_try:
        return RAN if earlier.has_passed else LACKED
    return ENDED.get(ended or "", "edited, not run yet")


def _how(code: CurrentCode) -> str:
    """Explain how to start a task."""
    if code.is_editing:
        how = "type what belongs there" if code.has_gap else "change it here"
        return f"{how}; Ctrl+R runs it"
    return "press e to change it, and Ctrl+R to run it"


def _after_run(state: BlockState, result: BlockResult, *, next_help: str) -> BlockStatusText:
    """Return the status texts of a block whose current or earlier code has run."""
    is_edited, is_editing = state.code.is_edited, state.code.is_editing
    if result.status == "notrun":
        return _not_run(result)
    if result.status == "skip":
        hint = f"{result.hint[:1].upper()}{result.hint[1:]}."
        help_for_it = [HangingText("", style_sentence(hint))] if result.hint else []
        note = (style_sentence(f"{result.detail}."), *help_for_it)
        return BlockStatusText("skip", status_word("skip", "skip"), note)
    line = f", line {result.traceback_line_numbers[0]}" if result.traceback_line_numbers else ""
    where = f"{line}  {result.seconds:.1f} s{_describe_devices(result.ran_on)}"
    if result.status == "pass":
        raises = "  raises, as it should" if state.catches_error else ""
        return BlockStatusText("pass", status_word("pass", "pass") + raises + where)
    if result.status in ("fail", "error") and state.block.is_try:
        first = "" if is_edited else f"; change it first{'' if is_editing else ', with e'}"
        where_to_look = _name_next_help(next_help, is_editing=is_editing)
        reason = tuple(_reason(result, is_task=True))
        title = status_word("warn", "not yet") + where + first
        return BlockStatusText(f"not yet{line}", title, reason, where_to_look)
    if result.status == "fail" and is_edited:
        how = "Esc, and then u," if is_editing else "u"
        stays = STAYS if state.is_done else _missing(result)
        note = style_sentence(f"{stays} {how} brings the lesson's code back.")
        if state.is_done:
            ran = Content(f"ran{where}; it prints something else now")
            return BlockStatusText(f"ran{line}", ran, (note,))
        return BlockStatusText(f"not yet{line}", status_word("warn", "not yet") + where, (note,))
    title = status_word(result.status, _LABELS[result.status]) + where
    return BlockStatusText(f"{_LABELS[result.status]}{line}", title, tuple(_reason(result)))


def _name_next_help(fold: str, *, is_editing: bool) -> Content:
    """Return the sentence about the key of a hint or an answer, or nothing without a fold."""
    key = "Esc, and then o" if is_editing else "o"
    return style_sentence(f"{NEXT_HELP[fold]} {key}.") if fold else Content()


def _missing(result: BlockResult) -> str:
    """Return a sentence that quotes the expected line missing from an edited block's output."""
    line = (result.difference.expected if result.difference else None) or ""
    quoted = escape_text(cut_text(line, MOST_OF_LINE)).replace("`", "'")
    return f"It does not count yet, because the lesson's line `{quoted}` is missing."


def _gone(*, was_stopped: bool, is_editing: bool) -> Content:
    """Return the note about a block whose process has ended."""
    what = "Its variables went with the process."
    if was_stopped:
        what = "It did not end by itself, so its process was ended, with all variables."
    key = "`a` runs everything down to here again."
    return style_sentence(
        f"{what} {'Ctrl+R runs the blocks above again, too.' if is_editing else key}"
    )


def _not_run(result: BlockResult) -> BlockStatusText:
    state, why = "NOT RUN", result.detail
    if result.reason == "interrupted":
        why = "stopped by you before it began"
        if result.seconds:
            state, why = "STOPPED", f"{result.seconds:.1f} s, by you"
    return BlockStatusText(state, status_word("notrun", state) + escape_text(f"  {why}"))


def _reason(result: BlockResult, *, is_task: bool = False) -> Iterator[LaidOutLines | Content]:
    """Explain why the block failed, without repeating the end of a traceback."""
    if result.difference:
        yield from _difference(result.difference, is_task=is_task)
    elif result.reason == "exception":
        if result.detail not in result.output or is_syntax_error(result):
            yield style_sentence(result.detail)
    elif result.detail or result.reason:
        told = result.status != "fail" and result.reason
        yield style_sentence(
            f"{told.replace('-', ' ')}: {result.detail}" if told else result.detail
        )


def _difference(difference: OutputDifference, *, is_task: bool) -> Iterator[LaidOutLines | Content]:
    """Yield the first differing line, as printed and as expected.

    If several lines differ and the block is not a task, yield only its number, because both texts
    are shown in full below.
    """
    if not difference.is_only:
        first = f"Line {difference.number} of the output is the first that differs"
        yield style_sentence(f"{first}{':' if is_task else '.'}")
        if not is_task:
            return
    elif difference.lines > 1:
        yield style_sentence(f"Only line {difference.number} of the output differs:")
    for label, line, absence in (
        ("printed", difference.printed, difference.absence),
        ("expected", difference.expected, NO_FURTHER),
    ):
        text = Content.styled(absence, "$muted") if line is None else Content(escape_text(line))
        yield HangingText(f"{label:<10}", text, is_typed=False)
    if difference.rtol:
        yield Content.styled(f"Its numbers may differ by {100 * difference.rtol:g} %.", "$muted")


def format_expected(
    block: Block, platform: str | None, result: BlockResult | None, *, is_told: bool
) -> Content:
    """Return the expected output for all platforms, or after a passed run for other platforms.

    Args:
        block: The block.
        platform: The platform on which it runs.
        result: The result of its run, if it has run.
        is_told: Whether another text shows the expected output for this platform.
    """
    here = block.expected_on(platform) if platform else None
    result = None if result and result.status in ("skip", "notrun") else result
    title = "expected" if result else "expected when it runs"
    parts: list[Content] = []
    for output in block.expected:
        if not _is_shown(result, is_here=output is here, is_task=block.is_try, is_told=is_told):
            continue
        where, text = output.platform_text, output.text.rstrip("\n")
        if result and result.status == "fail" and output.rtol:
            where += f", its numbers within {100 * output.rtol:g} %"
        known = result.output if result else here.text if here else ""
        if output is not here and known:  # omit lines that are the same on this platform
            lines = list_missing_lines(output, known)
            where += ", where that differs" * (len(lines) < len(text.split("\n")))
            text = "\n".join(lines)
        if text:
            parts.append(Content.styled(f"{title}{where}:\n{clean_text(text)}", "$muted"))
    return Content("\n").join(parts)


def _is_shown(result: BlockResult | None, *, is_here: bool, is_task: bool, is_told: bool) -> bool:
    """Return whether to show the expected output of this platform or another one after a run."""
    if result is None:
        return True
    if result.status == "error":  # for a task, nothing else shows the expected output
        return is_here and is_task
    return is_here and not is_told if result.status == "fail" else not is_here


class QuotedLines(LaidOutLines):
    """Text from the lesson, with a vertical line at its left to distinguish it from output."""

    def __init__(self, text: Content) -> None:
        self._text = text

    def lines(self, width: int) -> list[Content]:
        mark = Content.styled("┊ ", "$muted")
        return [mark + line for line in self._text.wrap(max(width - mark.cell_length, 1))]


def is_syntax_error(result: BlockResult) -> bool:
    """Return whether the block's error is a syntax error."""
    return result.exception in ("SyntaxError", "IndentationError", "TabError")


def _describe_devices(ran_on: UsedDevices | None) -> str:
    """Describe a run's devices, or return "" if they are not known."""
    if not ran_on:
        return ""
    if ran_on.virtual:
        return f" on {ran_on.count} virtual CPU devices"
    kind = escape_text(ran_on.kind)
    return phrases.choose_plural(ran_on.count, f" on {kind}", f" on {ran_on.count} x {kind}")

"""How a block ended, in words: a few in its frame, and below them what there is more to say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from textual.content import Content

from tpustarter.learning.block_results import BlockResult
from tpustarter.learning.blocks import Block
from tpustarter.learning.expected import Difference, differing
from tpustarter.terminal import cut, visible
from tpustarter.tui.lines import Hanging, Lines, prose, word
from tpustarter.tui.plain import plain

_LABELS = {
    "pass": "pass", "fail": "FAIL", "error": "ERROR", "skip": "skip", "notrun": "NOT RUN",
}  # fmt: skip
ANSWER, ANSWER_TYPING = "To see the answer, press o.", "To see the answer, press Esc, and then o."
"""Said where a task is not right yet; the second while keys are letters."""
STAYS = "It stays done, because it passed before."
"""Said of a block that no longer prints what the lesson does."""
MOST_OF_LINE = 60
"""Characters of a line that are told in a sentence."""


@dataclass(frozen=True)
class Words:
    """What is said of a block."""

    title: Content
    """What stands in its frame, on one line."""
    note: tuple[Lines | Content, ...] = ()
    """What stands below that, if anything."""
    last: Content = field(default_factory=Content)
    """What stands below all that was printed, if anything."""

    def is_like(self, other: Words) -> bool:
        """Return whether other words look the same; a note is taken for new."""
        pairs = ((self.title, other.title), (self.last, other.last))
        are_like = all(one.plain == two.plain and one.spans == two.spans for one, two in pairs)
        return are_like and not self.note and not other.note


def of_result(
    result: BlockResult,
    *,
    is_try: bool,
    is_edited: bool,
    is_editing: bool,
    has_answer: bool,
    is_done: bool,
    shows_error: bool,
) -> Words:
    """Return what is said of a block that ran as it stands.

    Args:
        result: How it ended.
        is_try: Whether the lesson asks to change it.
        is_edited: Whether the learner did.
        is_editing: Whether keys are letters now.
        has_answer: Whether the lesson's answer is there to be opened.
        is_done: Whether it has passed before.
        shows_error: Whether what the lesson says it prints begins with an error, which it catches.
    """
    if result.status == "notrun":
        return _not_run(result)
    if result.status == "skip":
        hint = f"{result.hint[:1].upper()}{result.hint[1:]}."
        help_for_it = [Hanging("", prose(hint))] if result.hint else []
        return Words(word("skip", "skip"), (prose(f"{result.detail}."), *help_for_it))
    line = f", line {result.raised_at[0]}" if result.raised_at else ""
    where = f"{line}  {result.seconds:.1f} s{_describe_devices(result.ran_on)}"
    if result.status == "pass":
        return Words(
            word("pass", "pass") + ("  raises, as it should" if shows_error else "") + where
        )
    if result.status in ("fail", "error") and is_try:
        how = "" if is_editing else ", with e"
        first = "" if is_edited else f"; change it first{how}"
        where_to_look = prose(ANSWER_TYPING if is_editing else ANSWER) if has_answer else Content()
        reason = tuple(_reason(result, is_task=True))
        return Words(word("warn", "not yet") + where + first, reason, where_to_look)
    if result.status == "fail" and is_edited:
        how = "Esc, and then u," if is_editing else "u"
        note = prose(
            f"{STAYS if is_done else _missing(result)} {how} brings the lesson's code back."
        )
        ran = Content(f"ran{where}; it prints something else now")
        return Words(ran if is_done else word("warn", "not yet") + where, (note,))
    return Words(word(result.status, _LABELS[result.status]) + where, tuple(_reason(result)))


def _missing(result: BlockResult) -> str:
    """Return which line of the lesson's is not printed by a block that the learner changed."""
    line = (result.difference.expected if result.difference else None) or ""
    quoted = visible(cut(line, MOST_OF_LINE)).replace("`", "'")
    return f"It does not count yet, because the lesson's line `{quoted}` is missing."


def gone(*, was_stopped: bool, is_editing: bool) -> Content:
    """Return what is said of a block that ran in a process that has ended."""
    what = "Its variables went with the process."
    if was_stopped:
        what = "It did not end by itself, so its process was ended, with all variables."
    key = "`a` runs everything down to here again."
    return prose(f"{what} {'Ctrl+R runs the blocks above again, too.' if is_editing else key}")


def _not_run(result: BlockResult) -> Words:
    if result.reason != "interrupted":
        return Words(word("notrun", "NOT RUN") + visible(f"  {result.detail}"))
    if result.seconds:
        return Words(word("notrun", "STOPPED") + f"  {result.seconds:.1f} s, by you")
    return Words(word("notrun", "NOT RUN") + "  stopped by you before it began")


def _reason(result: BlockResult, *, is_task: bool = False) -> Iterator[Lines | Content]:
    """Yield why it failed or broke; the end of a traceback is not said twice."""
    if result.difference:
        yield from _difference(result.difference, is_task=is_task)
    elif result.reason == "exception":
        if result.detail not in result.output or tells_syntax(result):
            yield prose(result.detail)
    elif result.detail or result.reason:
        told = result.status != "fail" and result.reason
        yield prose(f"{told.replace('-', ' ')}: {result.detail}" if told else result.detail)


def _difference(difference: Difference, *, is_task: bool) -> Iterator[Lines | Content]:
    """Yield the line that differs, as printed and as expected; of several the first.

    Where several differ, both texts stand below in full, unless that would solve a task.
    """
    if not difference.is_only:
        first = f"Line {difference.number} of the output is the first that differs"
        yield prose(f"{first}{':' if is_task else '.'}")
        if not is_task:
            return
    elif difference.lines > 1:
        yield prose(f"Only line {difference.number} of the output differs:")
    for label, line in (("printed", difference.printed), ("expected", difference.expected)):
        text = Content.styled("no such line", "$muted") if line is None else Content(visible(line))
        yield Hanging(f"{label:<10}", text, is_typed=False)
    if difference.rtol:
        yield Content.styled(f"Its numbers may differ by {100 * difference.rtol:g} %.", "$muted")


def expected(
    block: Block, platform: str | None, result: BlockResult | None, *, is_told: bool
) -> Content:
    """Return what a block should print: everywhere before a run, elsewhere after one.

    Args:
        block: The block.
        platform: What it runs on.
        result: How it ended, if it did.
        is_told: Whether it is said elsewhere what it should have printed here.
    """
    here = block.expected_on(platform) if platform else None
    result = None if result and result.status in ("skip", "notrun") else result
    title = "expected" if result else "expected when it runs"
    parts: list[Content] = []
    for output in block.expected:
        if not _is_shown(result, is_here=output is here, is_task=block.is_try, is_told=is_told):
            continue
        where, text = output.where, output.text.rstrip("\n")
        if result and result.status == "fail" and output.rtol:
            where += f", its numbers within {100 * output.rtol:g} %"
        known = result.output if result else here.text if here else ""
        if output is not here and known:  # what is the same here is not said again
            lines = differing(output, known)
            where += ", where that differs" * (len(lines) < len(text.split("\n")))
            text = "\n".join(lines)
        if text:
            parts.append(Content.styled(f"{title}{where}:\n{plain(text)}", "$muted"))
    return Content("\n").join(parts)


def _is_shown(result: BlockResult | None, *, is_here: bool, is_task: bool, is_told: bool) -> bool:
    """Return whether an output that is expected, here or elsewhere, is of use after a run."""
    if result is None:
        return True
    if result.status == "error":  # of a task nothing else says what is to come out
        return is_here and is_task
    return is_here and not is_told if result.status == "fail" else not is_here


class Quoted(Lines):
    """What the lesson says, with a line at its left: nothing of it was printed here."""

    def __init__(self, text: Content) -> None:
        self._text = text

    def lines(self, width: int) -> list[Content]:
        """Return the lines, wrapped."""
        mark = Content.styled("┊ ", "$muted")
        return [mark + line for line in self._text.wrap(max(width - mark.cell_length, 1))]


def tells_syntax(result: BlockResult) -> bool:
    """Return whether it is no Python: that is told first, and its output is only the place."""
    kinds = ("SyntaxError: ", "IndentationError: ", "TabError: ")
    return result.reason == "exception" and result.detail.startswith(kinds)


def _describe_devices(ran_on: dict[str, Any] | None) -> str:
    """Return where it ran, in words."""
    if not ran_on:
        return ""
    count = ran_on.get("count", 1)
    if ran_on.get("virtual"):
        return f" on {count} virtual CPU devices"
    kind = visible(str(ran_on.get("kind", ran_on.get("platform", ""))))
    return f" on {count} x {kind}" if count != 1 else f" on {kind}"

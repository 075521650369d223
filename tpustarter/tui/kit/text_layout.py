"""Texts that are laid out for each width, with hanging labels, right-aligned figures or columns."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence

from textual.content import Content, Span
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual

from tpustarter.text import bars
from tpustarter.text.invocation import NAME, format_commands, tpustarter_command
from tpustarter.text.terminal import (
    GLUE,
    add_unbreakable_spaces,
    escape_text,
    remove_unbreakable_spaces,
)
from tpustarter.tui.kit.safe_text import clean_text

STATUS_STYLES = {
    "pass": "$pass on $pass-ground",
    "fail": "bold $fail on $fail-ground",
    "error": "bold $broken on $broken-ground",
    "notrun": "$broken on $broken-ground",
    "warn": "bold $warn on $warn-ground",
    "skip": "$muted",
    "wait": "$muted",
    "run": "bold $background on $key",
    "done": "$pass",
    "next": "bold $key",
    "stage": "bold",
}
"""The styles of status words; they add no information to the words."""

CODE = "b"
"""The style of code in a sentence: it looks like `bold` in titles, but is kept on one line."""
MIN_TEXT_WIDTH = 16
"""Minimum width of a text next to its label; otherwise the text wraps below the label."""
FRAMED = 100
"""Minimum terminal width for areas with a full border, as in `app.HORIZONTAL_BREAKPOINTS`."""
WIDE = FRAMED - 2
"""Minimum width of a key line for showing more than a few keys."""
FEWEST_COLUMNS = 3
"""Minimum number of columns; fewer would be longer than running text and no easier to read."""
MIN_TITLE_WIDTH = 8
"""Minimum width of a wrapped title next to its figure; otherwise the title is truncated."""
_BAR = re.compile(f"{bars.FULL}+|{bars.EMPTY}+")


def status_word(status: str, text: str, width: int = 0) -> Content:
    """Return a status word in its style, padded to `width` columns."""
    words = text.rstrip()
    filling = " " * (max(width, len(text)) - len(words))
    return Content.styled(words, STATUS_STYLES.get(status, "")) + filling


def colour_bar(text: str | Content) -> Content:
    """Return a line of text with any bar from `text.bars` in colour."""
    line = Content(text) if isinstance(text, str) else text
    for run in _BAR.finditer(line.plain):
        line = line.stylize("$key" if run[0][0] == bars.FULL else "$border-blurred", *run.span())
    return line


def group_heading(text: str) -> Content:
    """Return a styled heading for a group of lines."""
    return Content.styled(text, "bold $label")


def style_sentence(text: str) -> Content:
    """Return a sentence of the program with bold code in place of backticks."""
    pieces = escape_text(text).split("`")
    if len(pieces) % 2 == 0:  # an unmatched backtick
        return Content(escape_text(text))
    return Content("").join(
        Content.styled(piece, CODE if number % 2 else "") for number, piece in enumerate(pieces)
    )


def style_lines(text: str) -> Content:
    """Return lines, such as an error with its hint, each styled by `style_sentence`."""
    return Content("\n").join(
        style_sentence(line) for line in clean_text(format_commands(text)).split("\n")
    )


def wrap_text(text: Content, width: int) -> list[Content]:
    """Wrap text without breaking quantities such as "12 min", or code that fits on one line."""
    plain_text = (
        add_unbreakable_spaces(text.plain) if len(tpustarter_command()) <= width else text.plain
    )
    for span in text.spans:
        if span.style == CODE and span.end - span.start <= width:
            code = plain_text[span.start : span.end].replace(" ", GLUE)
            plain_text = plain_text[: span.start] + code + plain_text[span.end :]
    lines = Content(plain_text, list(text.spans)).wrap(max(width, 1))
    return [Content(remove_unbreakable_spaces(line.plain), list(line.spans)) for line in lines]


class LaidOutLines(Visual):
    """A visual made of lines that are laid out for each width."""

    @abstractmethod
    def lines(self, width: int) -> list[Content]:
        """Return the lines, none wider than `width`."""

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:  # noqa: ARG002
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:  # noqa: ARG002
        return len(self.lines(width))

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        content = Content("\n").join(self.lines(width))
        return content.render_strips(width, height, style, options)


def adapt_commands(text: Content) -> Content:
    """Apply `format_commands` to a styled text, keeping its styles."""
    shown = format_commands(text.plain)
    growth = len(tpustarter_command()) - len(NAME)
    if shown == text.plain:
        return text
    replaced: list[int] = []  # offsets at which the command has replaced the name
    for match in re.finditer(NAME, text.plain):
        if shown.startswith(tpustarter_command(), match.start() + growth * len(replaced)):
            replaced.append(match.start())
    spans = [
        Span(
            start + growth * sum(at < start for at in replaced),
            end + growth * sum(at < end for at in replaced),
            style,
        )
        for start, end, style in text.spans
    ]
    return Content(shown, spans)


class HangingText(LaidOutLines):
    """A label and a text with a hanging indent, so that wrapped lines align with the text."""

    def __init__(self, label: Content | str, text: Content | str, *, is_typed: bool = True) -> None:
        """Join a label and a text; with `is_typed`, apply `format_commands` to the text."""
        self._label = Content.styled(label, "$label") if isinstance(label, str) else label
        content = Content(text) if isinstance(text, str) else text
        self._text = adapt_commands(content) if is_typed else content

    def lines(self, width: int) -> list[Content]:
        indent = self._label.cell_length
        if width - indent < MIN_TEXT_WIDTH:
            return wrap_text(self._label + self._text, width)
        first, *rest = wrap_text(self._text, width - indent) or [Content("")]
        return [self._label + first, *(line.pad_left(indent) for line in rest)]


class StackedText(LaidOutLines):
    """Pieces of text, one below the other, each laid out for each width."""

    def __init__(self, pieces: Iterable[LaidOutLines | Content]) -> None:
        self._pieces = list(pieces)

    def lines(self, width: int) -> list[Content]:
        return [
            line
            for piece in self._pieces
            for line in (
                piece.lines(width) if isinstance(piece, LaidOutLines) else wrap_text(piece, width)
            )
        ]


class TextLine(LaidOutLines):
    """A line with text at the left, a figure at the right, and more lines below it."""

    def __init__(
        self,
        left: Content,
        right: str = "",
        below: Sequence[LaidOutLines] = (),
        whole: Content | None = None,
        *,
        hang: int = 0,
    ) -> None:
        """Lay out the parts of a line.

        Args:
            left: The text, truncated if it does not fit.
            right: The figure.
            below: Pieces of text below the line.
            whole: A text after `left`, shown only if all of it fits.
            hang: The width of a label in `left`, in columns. With a label, `left` is wrapped and
                indented by this width instead of truncated.
        """
        self._hang = hang
        self._left = left
        self._right = right
        self._whole = whole
        self._below = StackedText(below)

    def lines(self, width: int) -> list[Content]:
        right = Content.styled(f" {self._right}" if self._right else "", "$muted")
        room = max(width - right.cell_length, 8)
        left = self._left
        if self._whole and left.cell_length + self._whole.cell_length <= room:
            left = left + self._whole
        rest: list[Content] = []
        if left.cell_length > room:
            if self._hang and room - self._hang >= MIN_TITLE_WIDTH:
                first, *rest = wrap_text(left[self._hang :], room - self._hang)
                left = left[: self._hang] + first
            else:
                left = left.truncate(room, ellipsis=True)
        row = left.pad_right(room - left.cell_length) + right if right else left
        return [row, *(line.pad_left(self._hang) for line in rest), *self._below.lines(width)]


class TextColumns(LaidOutLines):
    """Short texts in columns, read downwards, or as running text if the columns do not fit."""

    def __init__(self, texts: Sequence[str], indent: int) -> None:
        self._texts, self._indent = texts, indent

    def lines(self, width: int) -> list[Content]:
        cell, room = max(map(len, self._texts), default=0) + 2, width - self._indent
        count = (room + 2) // cell
        if count < FEWEST_COLUMNS:
            flow = Content.styled("  ".join(self._texts), "$muted")
            return HangingText(Content(" " * self._indent), flow).lines(width)
        height = -(-len(self._texts) // count)
        rows = (
            "".join(f"{text:<{cell}}" for text in self._texts[row::height]).rstrip()
            for row in range(height)
        )
        return [Content.styled(row, "$muted").pad_left(self._indent) for row in rows]


class KeyLine(LaidOutLines):
    """As many keys as fit on one line, the most important first; the help lists them all."""

    def __init__(
        self, keys: Sequence[Content], ranked: Sequence[int], few: int, *, status: str = ""
    ) -> None:
        """Lay out the keys.

        Args:
            keys: The keys with their labels, in reading order.
            ranked: Indices into `keys`, the most important first.
            few: The maximum number of keys on a screen that is not wide.
            status: A text at the right; on a screen that is not wide, only if the keys leave room.
        """
        self._keys, self._ranked, self._few = keys, ranked, few
        self._status = Content.styled(status, "$muted")

    def lines(self, width: int) -> list[Content]:
        is_wide, taken = width >= WIDE, self._status.cell_length
        room = width - taken - 2 if is_wide and taken else width
        count = len(self._ranked) if is_wide else self._few
        while count > 1 and self._line(count).cell_length > room:
            count -= 1
        line = self._line(count)
        free = width - line.cell_length - taken
        return [line.pad_right(free) + self._status if taken and free > 1 else line]

    def _line(self, count: int) -> Content:
        named = sorted(self._ranked[:count])
        return Content("  ").join(self._keys[number] for number in named)

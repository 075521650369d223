"""Texts that are laid out anew for every width: labels that hang, figures on the right, stacks."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence

from textual.content import Content, Span
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual

from tpustarter.invocation import NAME, as_typed, command
from tpustarter.terminal import GLUE, glue, unglue, visible
from tpustarter.tui.plain import plain

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
"""Colours repeat what a word says; without them nothing is lost."""

CODE = "b"
"""How code in a sentence is painted: as what is `bold`, such as a title, but kept in one line."""
MIN_TEXT_WIDTH = 16
"""Narrower than this a text is not kept beside its label."""
FRAMED = 100
"""Columns of a terminal from which areas have a whole frame, as in `app.HORIZONTAL_BREAKPOINTS`."""
WIDE = FRAMED - 2
"""Columns of a key line from which it names more than a few."""
FEWEST_COLUMNS = 3
"""Fewer than these are longer than a flow of the same texts, and no easier to read."""
MIN_TITLE_WIDTH = 8
"""Narrower than this a title is cut beside its figure."""


def word(status: str, text: str, width: int = 0) -> Content:
    """Return a status in words, coloured; the ground is no wider than the words."""
    words = text.rstrip()
    filling = " " * (max(width, len(text)) - len(words))
    return Content.styled(words, STATUS_STYLES.get(status, "")) + filling


def heading(text: str) -> Content:
    """Return what a group of lines is called, above it."""
    return Content.styled(text, "bold $label")


def prose(text: str) -> Content:
    """Return a sentence of ours with its code in bold; the backticks around it go."""
    pieces = visible(text).split("`")
    if len(pieces) % 2 == 0:  # a backtick stands alone
        return Content(visible(text))
    return Content("").join(
        Content.styled(piece, CODE if number % 2 else "") for number, piece in enumerate(pieces)
    )


def sentences(text: str) -> Content:
    """Return lines of ours, such as an error with its hint, as `prose` does for one."""
    return Content("\n").join(prose(line) for line in plain(as_typed(text)).split("\n"))


def wrapped(text: Content, width: int) -> list[Content]:
    """Return a text in lines; "12 min" stays on one of them, and so does code that fits one."""
    plain_text = glue(text.plain) if len(command()) <= width else text.plain
    for span in text.spans:
        if span.style == CODE and span.end - span.start <= width:
            code = plain_text[span.start : span.end].replace(" ", GLUE)
            plain_text = plain_text[: span.start] + code + plain_text[span.end :]
    lines = Content(plain_text, list(text.spans)).wrap(max(width, 1))
    return [Content(unglue(line.plain), list(line.spans)) for line in lines]


class Lines(Visual):
    """Visual made of lines that are laid out anew for every width."""

    @abstractmethod
    def lines(self, width: int) -> list[Content]:
        """Return the lines; none is wider than `width`."""

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:  # noqa: ARG002
        """Return the whole width."""
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:  # noqa: ARG002
        """Return the number of lines."""
        return len(self.lines(width))

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        """Return the lines, painted."""
        content = Content("\n").join(self.lines(width))
        return content.render_strips(width, height, style, options)


def typed(text: Content) -> Content:
    """Return a text whose commands work here, as `as_typed` does, with its styles kept."""
    shown = as_typed(text.plain)
    growth = len(command()) - len(NAME)
    if shown == text.plain:
        return text
    replaced: list[int] = []  # where in the text the name gave way to the command
    for match in re.finditer(NAME, text.plain):
        if shown.startswith(command(), match.start() + growth * len(replaced)):
            replaced.append(match.start())
    spans = [
        Span(start + growth * sum(at < start for at in replaced),
             end + growth * sum(at < end for at in replaced), style)
        for start, end, style in text.spans
    ]  # fmt: skip
    return Content(shown, spans)


class Hanging(Lines):
    """A label and a text that goes on below itself, not below the label."""

    def __init__(self, label: Content | str, text: Content | str, *, is_typed: bool = True) -> None:
        """Take both; commands in the text work here, unless it is a sentence of a lesson."""
        self._label = Content.styled(label, "$label") if isinstance(label, str) else label
        content = Content(text) if isinstance(text, str) else text
        self._text = typed(content) if is_typed else content

    def lines(self, width: int) -> list[Content]:
        """Return the text, wrapped."""
        indent = self._label.cell_length
        if width - indent < MIN_TEXT_WIDTH:
            return wrapped(self._label + self._text, width)
        first, *rest = wrapped(self._text, width - indent) or [Content("")]
        return [self._label + first, *(line.pad_left(indent) for line in rest)]


class Stack(Lines):
    """Pieces below each other."""

    def __init__(self, pieces: Iterable[Lines | Content]) -> None:
        self._pieces = list(pieces)

    def lines(self, width: int) -> list[Content]:
        """Return the lines of all pieces."""
        return [
            line
            for piece in self._pieces
            for line in (piece.lines(width) if isinstance(piece, Lines) else wrapped(piece, width))
        ]


class Line(Lines):
    """Text on the left, cut where it must be, a figure on the right, and pieces below."""

    def __init__(
        self,
        left: Content,
        right: str = "",
        below: Sequence[Lines] = (),
        whole: Content | None = None,
        *,
        hang: int = 0,
    ) -> None:
        """Take the parts of a line.

        Args:
            left: What must be seen; the end gives way where there is no room.
            right: A figure.
            below: Pieces below.
            whole: What stands behind `left` where it fits whole, and nowhere else.
            hang: Columns of a label, below the end of which `left` goes on in place of being cut.
        """
        self._hang = hang
        self._left = left
        self._right = right
        self._whole = whole
        self._below = Stack(below)

    def lines(self, width: int) -> list[Content]:
        """Return the line: the left side gives way to the right one."""
        right = Content.styled(f" {self._right}" if self._right else "", "$muted")
        room = max(width - right.cell_length, 8)
        left = self._left
        if self._whole and left.cell_length + self._whole.cell_length <= room:
            left = left + self._whole
        rest: list[Content] = []
        if left.cell_length > room:
            if self._hang and room - self._hang >= MIN_TITLE_WIDTH:
                first, *rest = wrapped(left[self._hang :], room - self._hang)
                left = left[: self._hang] + first
            else:
                left = left.truncate(room, ellipsis=True)
        row = left.pad_right(room - left.cell_length) + right if right else left
        return [row, *(line.pad_left(self._hang) for line in rest), *self._below.lines(width)]


class Flow(Lines):
    """Parts beside each other, as many as fit a line; none is broken."""

    def __init__(self, parts: Sequence[Content]) -> None:
        self._parts = parts

    def lines(self, width: int) -> list[Content]:
        """Return the parts, packed."""
        lines: list[Content] = []
        for part in self._parts:
            if lines and lines[-1].cell_length + 2 + part.cell_length <= width:
                lines[-1] = lines[-1] + "  " + part
            else:
                lines.append(part)
        return lines or [Content("")]


class Columns(Lines):
    """Short texts in columns, to be read downwards; in one flow where there is no room for them."""

    def __init__(self, texts: Sequence[str], indent: int) -> None:
        self._texts, self._indent = texts, indent

    def lines(self, width: int) -> list[Content]:
        """Return the texts, each column as wide as the longest of them."""
        cell, room = max(map(len, self._texts), default=0) + 2, width - self._indent
        count = (room + 2) // cell
        if count < FEWEST_COLUMNS:
            flow = Content.styled("  ".join(self._texts), "$muted")
            return Hanging(Content(" " * self._indent), flow).lines(width)
        height = -(-len(self._texts) // count)
        rows = ("".join(f"{text:<{cell}}" for text in self._texts[row::height]).rstrip()
                for row in range(height))  # fmt: skip
        return [Content.styled(row, "$muted").pad_left(self._indent) for row in rows]


class KeyLine(Lines):
    """Keys in one line; those that matter least give way, and help lists them all."""

    def __init__(
        self, keys: Sequence[Content], ranked: Sequence[int], few: int, *, status: str = ""
    ) -> None:
        """Take the keys.

        Args:
            keys: Each with what it does, in the order in which they are read.
            ranked: Their numbers, those that matter most first.
            few: How many are shown on less than a wide screen.
            status: Stands at the right; on less than a wide screen where keys leave room for it.
        """
        self._keys, self._ranked, self._few = keys, ranked, few
        self._status = Content.styled(status, "$muted")

    def lines(self, width: int) -> list[Content]:
        """Return as many keys as fit."""
        is_wide, taken = width >= WIDE, self._status.cell_length
        room = width - taken - 2 if is_wide and taken else width
        count = len(self._ranked) if is_wide else self._few
        while count > 1 and self._line(count).cell_length > room:
            count -= 1
        line = self._line(count)
        free = width - line.cell_length - taken
        return [line.pad_right(free) + self._status if taken and free > 1 else line]

    def _line(self, count: int) -> Content:
        """Return so many keys, those that matter most, in their order."""
        named = sorted(self._ranked[:count])
        return Content("  ").join(self._keys[number] for number in named)

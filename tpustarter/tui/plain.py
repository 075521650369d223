"""Turns text from elsewhere into text that is safe and tidy on the screen."""

from __future__ import annotations

import re
from collections import deque

from tpustarter.terminal import visible

SHOWN_LINES = 400
"""Lines of a growing output that are kept on the screen; the log has all of them."""
LINE_CHARACTERS = 2000
_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")


def plain(text: str) -> str:
    """Return text without colours, with every other control character spelt out."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(_clean_line(line) for line in lines)


def plain_source(text: str) -> str:
    """Return Markdown or code with its line breaks and tabs, other control characters spelt out."""
    return "".join(character if character in "\n\t" else visible(character) for character in text)


def _clean_line(line: str) -> str:
    # A program that redraws its line ends each drawing with a carriage return: the last counts.
    last = line.rstrip("\r").rpartition("\r")[2]
    return visible(_COLOURS.sub("", last).expandtabs(4)[:LINE_CHARACTERS])


class Tail:
    """The last lines of an output that is still growing."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=SHOWN_LINES)
        self._partial = ""
        """What came after the last line break."""
        self._count = 0

    def add(self, text: str) -> None:
        """Add what arrived; it may end in the middle of a line."""
        *whole, rest = text.split("\n")
        for line in whole:
            self._lines.append(_clean_line(self._partial + line))
            self._partial = ""
            self._count += 1
        self._partial = (self._partial + rest)[-LINE_CHARACTERS * 4 :]

    def drop_last(self, line: str) -> None:
        """Leave out the last line where it is this one, because it is said elsewhere."""
        if self._lines and self._lines[-1] == line:
            self._lines.pop()

    @property
    def text(self) -> str:
        """What is kept: a note on what is above, then the last lines."""
        return self.last(SHOWN_LINES)

    def last(self, most: int) -> str:
        """Return a note on what is above, then the last lines, at most so many and a begun one."""
        above = max(self._count - most, 0)
        lines = [*self._lines][-most:]
        if self._partial:
            lines.append(_clean_line(self._partial))
        note = [f"... {above} lines above"] if above else []
        return "\n".join([*note, *lines])

"""Cleaning of untrusted text for display in a terminal."""

from __future__ import annotations

import re
from collections import deque

from tpustarter.text.terminal import escape_text

SHOWN_LINES = 400
"""Maximum number of output lines on the screen; the log has all of them."""
LINE_CHARACTERS = 2000
_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")


def clean_text(text: str) -> str:
    """Remove colour codes from text, and escape other control characters."""
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(_clean_line(line) for line in lines)


def plain_source(text: str) -> str:
    """Escape control characters in Markdown or code, except line breaks and tabs."""
    return "".join(
        character if character in "\n\t" else escape_text(character) for character in text
    )


def _clean_line(line: str) -> str:
    # A program that redraws a line ends each version with a carriage return. Keep the last version.
    last = line.rstrip("\r").rpartition("\r")[2]
    return escape_text(_COLOURS.sub("", last).expandtabs(4)[:LINE_CHARACTERS])


class OutputTail:
    """The last lines of output that is still being written."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=SHOWN_LINES)
        self._partial = ""
        """The text after the last line break."""
        self._count = 0

    def add(self, text: str) -> None:
        """Add output, which may end in the middle of a line."""
        *whole, rest = text.split("\n")
        for line in whole:
            self._lines.append(_clean_line(self._partial + line))
            self._partial = ""
            self._count += 1
        self._partial = (self._partial + rest)[-LINE_CHARACTERS * 4 :]

    def drop_last(self, line: str) -> None:
        """Remove the last line if it equals `line`, which is shown elsewhere."""
        if self._lines and self._lines[-1] == line:
            self._lines.pop()

    @property
    def text(self) -> str:
        """A note with the number of omitted lines, and the last `SHOWN_LINES` lines."""
        return self.last(SHOWN_LINES)

    def last(self, most: int) -> str:
        """Return the last `most` lines and the unfinished one, after a note about omitted lines."""
        above = max(self._count - most, 0)
        lines = [*self._lines][-most:]
        if self._partial:
            lines.append(_clean_line(self._partial))
        note = [f"... {above} lines above"] if above else []
        return "\n".join([*note, *lines])

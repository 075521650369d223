"""The sentence of a lesson that something was found in: its lines break where the file's do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tpustarter.learning.passages import BEGIN, END

CUT = "..."
"""Stands where a sentence goes on."""
_END = re.compile(r"(?<=[.:!?])\s+")
"""Between two sentences."""
_CELL = re.compile(r" {2,}")
"""Between two cells of a table."""


def sentence(lines: Sequence[str], numbers: Sequence[int], at: int) -> str:
    """Return the sentence of a line that holds the first thing found in it, with the marks.

    Args:
        lines: Of prose, with BEGIN and END around what was found, both in one line.
        numbers: Where they stand in the file. A gap is the end of a paragraph.
        at: The index of the line. One line before it and one behind it are looked at.
    """
    line = lines[at].strip()
    if _CELL.search(line):
        name, *rest = _CELL.split(line)
        return f"{name}: {', '.join(rest)}"
    before, after = _beside(lines, numbers, at, -1), _beside(lines, numbers, at, 1)
    pieces = _END.split(line)
    first = next((n for n, piece in enumerate(pieces) if BEGIN in piece), 0)
    last = max((n for n, piece in enumerate(pieces) if END in piece), default=first)
    begins, ends = _END.split(before), _END.split(after)
    text = " ".join(pieces[first : last + 1])
    if first == 0 and before and not _is_end(before):
        text = f"{begins[-1]} {text}" if len(begins) > 1 else f"{CUT} {text}"
    if last == len(pieces) - 1 and after and not _is_end(line):
        whole = len(ends) > 1 or _is_end(after)
        text = f"{text} {ends[0]}" if whole else f"{text} {CUT}"
    return text


def _beside(lines: Sequence[str], numbers: Sequence[int], at: int, by: int) -> str:
    """Return the next line of the paragraph, or the one before; empty without any."""
    other = at + by
    if not 0 <= other < len(lines) or numbers[other] != numbers[at] + by:
        return ""
    text = lines[other].strip()
    return "" if _CELL.search(text) else text


def _is_end(text: str) -> bool:
    return text.replace(END, "").endswith((".", ":", "!", "?"))

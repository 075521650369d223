"""Progress bars in plain text, and the width of text in terminal columns."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

FULL, EMPTY = "━", "─"
"""Characters of a bar; their shapes differ, so no colour is needed."""
SHORTEST = 1
"""Minimum width of a stage in a bar, in columns."""
_PLAIN = "#", "."
"""Characters of a bar for streams that cannot encode the others."""


def draw_bar(share: float, width: int, encoding: str = "utf-8") -> str:
    """Return a bar of `width` columns, filled to a share of 0 to 1.

    A share above 0 fills at least one column, and only a share of 1 fills all of them.
    """
    share = min(max(share, 0.0), 1.0)
    filled = round(share * width)
    if 0 < share < 1:
        filled = min(max(filled, 1), width - 1)
    full, empty = (FULL, EMPTY) if _can_write(FULL + EMPTY, encoding) else _PLAIN
    return full * filled + empty * (width - filled)


def draw_staged_bar(stages: Sequence[tuple[int, float]], width: int) -> str:
    """Return a bar with one piece per stage, in proportion to the stage's length.

    Args:
        stages: Each stage's length, in any unit, and the share of it that is done.
        width: Total width in columns; if it is too narrow, the bar has no pieces.
    """
    total = max(sum(length for length, _ in stages), 1)
    spare = width - len(stages) * (SHORTEST + 1) + 1
    if len(stages) < 2 or spare < 0:
        return draw_bar(sum(length * share for length, share in stages) / total, width)
    pieces, begin, behind = list[str](), 0, 0
    for length, share in stages:
        behind += length
        end = round(spare * behind / total)
        pieces.append(draw_bar(share, SHORTEST + end - begin))
        begin = end
    return " ".join(pieces)


def draw_peak_bar(share: float | None, width: int = 40) -> str:
    """Return a measured rate as a bar whose full length is the documented peak.

    Empty if no peak is documented for the device, as for a CPU.
    """
    return "" if share is None else f"{draw_bar(share, width)}  {100 * share:.0f} % of the peak"


def _can_write(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def count_columns(text: str) -> int:
    """Return the width of text in columns: two for a wide character, none for a combining one."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shorten_to_columns(text: str, width: int) -> str:
    """Shorten text to a number of terminal columns, ending it with dots."""
    if count_columns(text) <= width:
        return text
    kept, room = "", width - 3
    for character in text:
        room -= _columns(character)
        if room < 0:
            break
        kept += character
    return f"{kept.rstrip()}..."[: max(width, 0)]

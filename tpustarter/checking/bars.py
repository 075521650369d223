"""Bars of plain text, and how many columns a text takes on a terminal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

FULL, EMPTY = "━", "─"
"""What a bar is drawn with: the shapes differ, so that colour is not needed."""
SHORTEST = 1
"""Columns of a stage in a bar, at least."""
_PLAIN = "#", "."
"""The same for a stream that cannot write them."""


def bar(share: float, width: int, encoding: str = "utf-8") -> str:
    """Return a bar of so many columns, filled by a share of 0 to 1.

    What has begun shows something, and only what is whole is filled to the end.
    """
    share = min(max(share, 0.0), 1.0)
    filled = round(share * width)
    if 0 < share < 1:
        filled = min(max(filled, 1), width - 1)
    full, empty = (FULL, EMPTY) if _can_write(FULL + EMPTY, encoding) else _PLAIN
    return full * filled + empty * (width - filled)


def staged(stages: Sequence[tuple[int, float]], width: int) -> str:
    """Return a bar with a piece for each stage, as long as the stage is beside the others.

    Args:
        stages: Of each its length, in any unit, and the share of it that is done.
        width: Columns of the whole; one bar without pieces where they are too few.
    """
    total = max(sum(length for length, _ in stages), 1)
    spare = width - len(stages) * (SHORTEST + 1) + 1
    if len(stages) < 2 or spare < 0:
        return bar(sum(length * share for length, share in stages) / total, width)
    pieces, begin, behind = list[str](), 0, 0
    for length, share in stages:
        behind += length
        end = round(spare * behind / total)
        pieces.append(bar(share, SHORTEST + end - begin))
        begin = end
    return " ".join(pieces)


def of_peak(finding: Mapping[str, Any], width: int = 40) -> str:
    """Return a measured rate as a bar whose whole length is the documented peak.

    Empty where no peak is documented for the device, as on a CPU.
    """
    share = re.fullmatch(r"(\d+) %", str(finding["found"]))
    if not share or not str(finding["code"]).endswith("-PEAK") or not finding["expected"]:
        return ""
    return f"{bar(int(share[1]) / 100, width)}  {share[0]} of the peak"


def _can_write(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def columns(text: str) -> int:
    """Return how many columns a text takes: two for a wide character, none for a combining one."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shortened(text: str, width: int) -> str:
    """Return as much of a text as so many columns hold, with dots for what is left out."""
    if columns(text) <= width:
        return text
    kept, room = "", width - 3
    for character in text:
        room -= _columns(character)
        if room < 0:
            break
        kept += character
    return f"{kept.rstrip()}..."[: max(width, 0)]

"""The memory of one device as a picture: what is needed of it, with the biggest arrays as parts."""

from __future__ import annotations

import re
from typing import Any

from textual.content import Content

from tpustarter.rehearsal import memory_bar, rehearsal_text
from tpustarter.rehearsal.memory_bar import Part
from tpustarter.tui.lines import Lines, word

COLOURS = {
    "A": "$key",
    "B": "$keyword",
    "C": "$string",
    "D": "$warn",
    memory_bar.OTHER: "$muted-colour",
}
"""The ground of each part."""
WIDEST, NARROWEST = 96, 10
"""Cells of a bar."""


def letter(part: Part) -> Content:
    """Return the letter of a part, on the ground that it has in the bar."""
    return Content.styled(part.letter, f"$background on {COLOURS[part.letter]}")


def taken(result: dict[str, Any]) -> list[Part]:
    """Return what takes the memory that a program needs: its biggest arrays, and the rest."""
    return memory_bar.parts(result, rehearsal_text.biggest(result.get("buffers") or []))


def picture(result: dict[str, Any], width: int) -> Content:
    """Return a bar of so many cells: what is needed, and what is free; empty without a limit.

    Each part is a ground with its letter at the beginning. The other letters have the colour of
    the ground, so that without colours they are seen, and show the same.
    """
    brackets = 2 + (result.get("hbm_bytes", 0) > (result.get("hbm_limit_bytes") or 0))
    cells = memory_bar.bar(result, taken(result), max(width - brackets, NARROWEST))
    return Content("").join(_cells(run[0]) for run in re.finditer(r"(.)\1*", cells))


class Memory(Lines):
    """The memory of a device in a line, as wide as there is room."""

    def __init__(self, result: dict[str, Any]) -> None:
        self._result = result

    def lines(self, width: int) -> list[Content]:
        """Return the bar between the name of the TPU and a percentage."""
        percent = memory_bar.percent(self._result)
        label = f"{self._result['tpu']:<8} "
        drawn = picture(self._result, min(WIDEST, width - len(label) - len(percent) - 1))
        is_full = memory_bar.END in drawn.plain
        return [Content(label) + drawn + " " + word("fail" if is_full else "", percent)]


def _cells(run: str) -> Content:
    """Return the cells of one part."""
    if run[0] == memory_bar.END:
        return Content.styled(run, "bold $fail")
    colour = COLOURS.get(run[0])
    if colour is None:
        return Content.styled(run, "$muted")
    first = Content.styled(run[0], f"$background on {colour}")
    return first + Content.styled(run[1:], f"{colour} on {colour}")

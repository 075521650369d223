"""The memory of one device as a bar: the part in use, with the largest arrays."""

from __future__ import annotations

import re

from textual.content import Content

from tpustarter.rehearsal.result_fields import SizedProgram
from tpustarter.rehearsal.text import memory_bar, rehearsal_text
from tpustarter.rehearsal.text.memory_bar import MemoryPart
from tpustarter.tui.kit.text_layout import LaidOutLines, status_word

COLOURS = {
    "A": "$key",
    "B": "$keyword",
    "C": "$string",
    "D": "$warn",
    memory_bar.OTHER: "$muted-colour",
}
"""The background colour of each part."""
WIDEST, NARROWEST = 96, 10
"""Maximum and minimum number of cells in a bar."""


def paint_letter(part: MemoryPart) -> Content:
    """Return the letter of a part, on the part's background colour."""
    return Content.styled(part.letter, f"$background on {COLOURS[part.letter]}")


def list_parts(result: SizedProgram) -> list[MemoryPart]:
    """Return the parts of a program's memory: its largest arrays, and the rest."""
    return memory_bar.list_memory_parts(
        result, rehearsal_text.select_largest_arrays(result.get("buffers", []))
    )


def draw_memory(result: SizedProgram, width: int) -> Content:
    """Return a bar of used and free memory that is `width` cells wide, including its brackets.

    Between the brackets there are at least `NARROWEST` cells. The bar is empty if there is no
    limit, or if the program needs less than one cell.

    Each part repeats its letter on its own background colour. Only the first letter stands out. The
    others have the colour of the background, so they can be seen only on a terminal without
    colours.
    """
    brackets = 2 + (result["hbm_bytes"] > result["hbm_limit_bytes"])
    cells = memory_bar.draw_memory_bar(result, list_parts(result), max(width - brackets, NARROWEST))
    return Content("").join(_cells(run[0]) for run in re.finditer(r"(.)\1*", cells))


class MemoryPicture(LaidOutLines):
    """A one-line bar of a program's memory use on one TPU, fitted to the screen's width."""

    def __init__(self, result: SizedProgram) -> None:
        self._result = result

    def lines(self, width: int) -> list[Content]:
        percent = memory_bar.format_percent(self._result)
        label = f"{self._result['tpu']:<8} "
        drawn = draw_memory(self._result, min(WIDEST, width - len(label) - len(percent) - 1))
        is_full = memory_bar.END in drawn.plain
        return [Content(label) + drawn + " " + status_word("fail" if is_full else "", percent)]


def _cells(run: str) -> Content:
    if run[0] == memory_bar.END:
        return Content.styled(run, "bold $fail")
    colour = COLOURS.get(run[0])
    if colour is None:
        return Content.styled(run, "$muted")
    first = Content.styled(run[0], f"$background on {colour}")
    return first + Content.styled(run[1:], f"{colour} on {colour}")

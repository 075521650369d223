"""The memory of one device as a bar: the largest arrays and the rest, out of its capacity.

Each part is drawn with a letter that the legend explains: `[AAAAAABBoo......]` is four tenths A. If
a program needs too much, a vertical bar marks the end of the memory: `[AAAAAAAAAABBBB|BB]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpustarter.rehearsal.result_fields import ProgramArray, SizedProgram

WIDTH = 30
"""Cells of a bar whose program fits."""
LETTERS = "ABCD"
OTHER = "o"
FREE = "."
END = "|"


@dataclass(frozen=True)
class MemoryPart:
    """An array that takes memory, or the rest of what the program needs."""

    letter: str
    taken: int
    """Bytes of the program's need. Temporaries share memory, so this may be less than the array's
    own size, down to 0."""
    buffer: ProgramArray | None
    """The array; None for the rest."""


def list_memory_parts(result: SizedProgram, buffers: Sequence[ProgramArray]) -> list[MemoryPart]:
    """Return the parts of a program's memory: these arrays, and the rest."""
    memory = result.get("memory", {})
    left = {
        "argument": memory.get("arguments", 0),
        "output": max(memory.get("outputs", 0) - memory.get("aliased", 0), 0),
        "temporary": memory.get("temporaries", 0),
    }
    needed = result["hbm_bytes"]
    found: list[MemoryPart] = []
    for letter, buffer in zip(LETTERS, buffers, strict=False):
        kind = buffer["kind"]
        taken = min(buffer["laid_out_bytes"], left.get(kind, 0), needed)
        left[kind] = left.get(kind, 0) - taken
        needed -= taken
        found.append(MemoryPart(letter, taken, buffer))
    return [*found, MemoryPart(OTHER, needed, None)]


def draw_memory_bar(result: SizedProgram, taken: Sequence[MemoryPart], width: int = WIDTH) -> str:
    """Return a program's bar for one device, or "" if it needs less than one cell."""
    needed, limit = result["hbm_bytes"], result["hbm_limit_bytes"]
    if not limit or needed * width < limit:
        return ""
    per_cell = max(needed, limit) / width
    cells, end = "", 0
    for part in taken:
        end += part.taken
        cells += part.letter * (round(end / per_cell) - len(cells))
    if needed <= limit:
        return f"[{cells:{FREE}<{width}}]"
    inside = min(int(limit / per_cell), width - 1)
    return f"[{cells[:inside]}{END}{cells[inside:]}]"


def format_percent(result: SizedProgram) -> str:
    """Return the needed memory as a percentage of the device's; empty without a limit."""
    limit = result["hbm_limit_bytes"]
    return f"{100 * result['hbm_bytes'] / limit:.0f} %" if limit else ""

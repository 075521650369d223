"""The memory of one device as a bar: what is needed of what there is, the biggest arrays in it.

Each part is drawn with a letter, which the legend explains: `[AAAAAABBoo......]` is four tenths A.
Where a program needs too much, a bar line marks the end of the memory: `[AAAAAAAAAABBBB|BB]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 30
"""Cells of a bar, where the program fits."""
LETTERS = "ABCD"
OTHER = "o"
FREE = "."
END = "|"


@dataclass(frozen=True)
class Part:
    """An array that takes memory, or all the rest of what is needed."""

    letter: str
    taken: int
    """Bytes of what the program needs. Temporaries share memory, so it may be less than an
    array's own size, down to nothing."""
    buffer: dict[str, Any] | None
    """The array, as a result tells it; None for the rest."""


def parts(result: dict[str, Any], buffers: Sequence[dict[str, Any]]) -> list[Part]:
    """Return what takes the memory that a program needs: these arrays, and the rest."""
    memory: dict[str, int] = result.get("memory") or {}
    left = {
        "argument": memory.get("arguments", 0),
        "output": max(memory.get("outputs", 0) - memory.get("aliased", 0), 0),
        "temporary": memory.get("temporaries", 0),
    }
    needed = int(result.get("hbm_bytes") or 0)
    found: list[Part] = []
    for letter, buffer in zip(LETTERS, buffers, strict=False):
        kind = buffer["kind"]
        taken = min(buffer["laid_out_bytes"], left.get(kind, 0), needed)
        left[kind] = left.get(kind, 0) - taken
        needed -= taken
        found.append(Part(letter, taken, buffer))
    return [*found, Part(OTHER, needed, None)]


def bar(result: dict[str, Any], taken: Sequence[Part], width: int = WIDTH) -> str:
    """Return the bar of a program on one device; empty where nothing of it would be seen."""
    needed, limit = int(result.get("hbm_bytes") or 0), int(result.get("hbm_limit_bytes") or 0)
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


def percent(result: dict[str, Any]) -> str:
    """Return what is needed in percent of what there is."""
    limit = result.get("hbm_limit_bytes") or 0
    return f"{100 * result.get('hbm_bytes', 0) / limit:.0f} %" if limit else ""

"""Byte counts as text."""

from __future__ import annotations

from collections.abc import Sequence

GIB = 2.0**30
MIB = 2.0**20


def format_size(count: float) -> str:
    """Return a byte count in the unit that suits it."""
    return format_sizes([count])[0]


def format_sizes(counts: Sequence[float]) -> list[str]:
    """Return byte counts for comparison, all in the unit and precision of the largest.

    Right-aligned in a column, their decimal points line up.
    """
    largest = max(counts, default=0)
    units = (("GiB", GIB), ("MiB", MIB), ("KiB", 2.0**10), ("B", 1.0))
    unit, factor = next((one for one in units if largest >= one[1]), units[-1])
    decimals = 0 if unit == "B" or largest >= 100 * factor else 2
    least = 10.0**-decimals
    return [
        f"<{least:g} {unit}"
        if 0 < count / factor < least / 2
        else f"{count / factor:.{decimals}f} {unit}"
        for count in counts
    ]

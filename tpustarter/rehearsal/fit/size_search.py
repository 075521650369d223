"""The strategy of the search: which size to compile next, and when to stop.

Sizes are counted in steps, from 1. Memory mostly grows with the size, but a size that fills its
tiles may need less than the one below it. So the search begins with multiples of 128 and of 8, and
ends at a size that fits while the next one does not. It extrapolates from the bytes that the
compiled sizes need, and halves the gap where that does not close it.
"""

from __future__ import annotations

import math

GRAINS = (128, 8, 1)
"""Sizes are multiples of these, in this order: columns and rows of a tile, and single ones."""
LOOK_AHEAD = 1.25
"""Largest multiple, of the largest size that fits, up to which larger sizes are tried."""
MOST_GROWTH = 16
"""Largest factor from one size to the next, while none is too big."""


class SizeSearch:
    """Sizes that fit and sizes that don't, counted in steps, and the next one to try."""

    def __init__(self, start: int, most: int, limit_bytes: int) -> None:
        """Begin a search.

        Args:
            start: The first size, in steps.
            most: The largest size, in steps.
            limit_bytes: Memory of one device.
        """
        self._start, self._most, self._limit = min(max(start, 1), most), most, limit_bytes
        self._fits: dict[int, int] = {}
        self._too_big: dict[int, int] = {}
        """Bytes needed by each size that does not fit; 0 if unknown."""
        self._growth = self._in_gap = 0

    @property
    def largest(self) -> int:
        """The largest size that fits, or 0 if none does."""
        return max(self._fits, default=0)

    def record(self, size: int, needed_bytes: int, *, fits: bool) -> None:
        """Record the answer for one size."""
        (self._fits if fits else self._too_big)[size] = needed_bytes

    def find_next(self) -> int | None:
        """Return the size to compile next, or None at the end."""
        lowest, highest = self.largest, self._smallest_too_big()
        if not self._fits and not self._too_big:
            return self._start
        if highest is None:
            return self._above(lowest) if lowest < self._most else None
        if not lowest:
            return self._below(highest) if highest > 1 else None
        return self._between(lowest, highest) or self._above_gap(lowest)

    def _smallest_too_big(self) -> int | None:
        return min((size for size in self._too_big if size > self.largest), default=None)

    def _below(self, highest: int) -> int:
        needed = self._too_big[highest]
        guess = highest * self._limit // needed if needed > self._limit else highest
        return max(1, min(guess, highest // 2))

    def _above(self, lowest: int) -> int:
        # Go at least twice as far as the last time, so that guesses that are too low cost little.
        self._growth = 2 * self._growth or 1
        slope = self._slope(lowest)
        ahead = int((self._limit - self._fits[lowest]) / slope) if slope > 0 else lowest
        guess = lowest + ahead
        guess = min(max(guess, lowest + self._growth), MOST_GROWTH * lowest)
        grain = next(one for one in GRAINS if 4 * one <= guess or one == 1)
        return min(-(-guess // grain) * grain, self._most)

    def _between(self, lowest: int, highest: int) -> int | None:
        for grain in GRAINS:
            first, last = lowest // grain + 1, (highest - 1) // grain
            if first <= last:
                guess = int(self._guess_border(lowest, highest)) // grain
                return min(max(guess, first), last) * grain
        return None

    def _guess_border(self, lowest: int, highest: int) -> float:
        # In turn, extrapolate from sizes that fit, interpolate across the gap, whose upper figure
        # the compiler rounds, and halve it.
        turn = self._in_gap = self._in_gap % 3 + 1
        need, most = self._fits[lowest], self._too_big[highest]
        slope = self._slope(lowest)
        if turn == 1 and slope > 0:
            return lowest + (self._limit - need) / slope
        if turn == 3 or not 0 < need < self._limit < most:
            return (lowest + highest) / 2
        power = math.log(highest / lowest) / math.log(most / need)
        return lowest * (self._limit / need) ** power

    def _slope(self, lowest: int) -> float:
        below = max((size for size in self._fits if size < lowest), default=0)
        return (self._fits[lowest] - self._fits[below]) / (lowest - below) if below else 0.0

    def _above_gap(self, lowest: int) -> int | None:
        sizes = ((lowest // grain + 1) * grain for grain in GRAINS)
        most = min(self._most, LOOK_AHEAD * lowest)
        return next((one for one in sizes if one <= most and one not in self._too_big), None)


def list_step_sizes(devices: int, default: int) -> list[int]:
    """Return the step sizes to try, smallest first; a mesh's axes must divide a batch.

    Args:
        devices: Number of devices.
        default: The default that the user's function has for the dimension; 0 if none.
    """
    steps = {devices << shift for shift in range(7)}
    for number in (devices, default):
        steps |= {one for one in range(1, min(number, 4096) + 1) if number % one == 0}
    return sorted(steps | ({default} if default > 0 else set()))

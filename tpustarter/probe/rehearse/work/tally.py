"""FLOPs and other operations of a program or a part of it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from tpustarter.probe.rehearse.rehearsal_messages import WorkFields

MatrixType = tuple[str, str, int]
"""Operand types of a matrix product in HLO notation, and its number of passes."""


@dataclass
class WorkTally:
    """FLOPs of a program, on all devices together."""

    full: dict[MatrixType, float] = field(default_factory=lambda: defaultdict(float))
    """FLOPs of matrix products and convolutions, as written."""
    least: dict[MatrixType, float] = field(default_factory=lambda: defaultdict(float))
    """The same without masked scores and kernels, and with the cheapest branches."""
    hoisted: dict[tuple[int, MatrixType], float] = field(default_factory=lambda: defaultdict(float))
    """Least FLOPs whose operands only an outer loop changes, keyed by the depth of that loop."""
    rematerialized: float = 0.0
    """The part of `full` that `jax.checkpoint` recomputes."""
    kernels: float = 0.0
    """FLOPs in the cost estimates of hand-written kernels, also part of `full`."""
    other: float = 0.0
    """Elements computed by all other operations."""
    unknown: set[str] = field(default_factory=set[str])
    """Parts that are not counted."""
    notes: set[str] = field(default_factory=set[str])
    """Assumptions behind the counts."""

    def add_part(self, other: WorkTally, times: float = 1) -> None:
        """Add the work of a part that runs `times` times."""
        self._add_others(other, times)
        for place, flops in other.hoisted.items():
            self.hoisted[place] += times * flops

    def add_loop(self, body: WorkTally, turns: int, depth: int) -> None:
        """Add a loop; a compiler may compute loop-invariant work once.

        Args:
            body: The work of one iteration.
            turns: The number of iterations.
            depth: The number of enclosing loops.
        """
        self._add_others(body, turns)
        for (level, key), flops in body.hoisted.items() if turns else ():
            if level >= depth:
                self.least[key] += flops
            else:
                self.hoisted[level, key] += flops

    def _add_others(self, other: WorkTally, times: float) -> None:
        for mine, theirs in ((self.full, other.full), (self.least, other.least)):
            for key, flops in theirs.items():
                mine[key] += times * flops
        self.rematerialized += times * other.rematerialized
        self.kernels += times * other.kernels
        self.other += times * other.other
        self.unknown |= other.unknown
        self.notes |= other.notes

    def as_fields(self) -> WorkFields:
        """Return the tally as fields of a result, as plain Python numbers."""
        return {
            "matrix": [
                {
                    "left": left,
                    "right": right,
                    "passes": int(passes),
                    "flops": float(flops),
                    "least_flops": float(self.least[left, right, passes]),
                }
                for (left, right, passes), flops in sorted(self.full.items())
            ],
            "rematerialized_flops": float(self.rematerialized),
            "kernel_flops": float(self.kernels),
            "other_operations": float(self.other),
            "unknown": sorted(self.unknown),
            "assumes": sorted(self.notes),
        }

"""FLOPs and other operations of a program, or of a part of one."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from tpustarter.probe.rehearse.rehearsal_messages import WorkFields

MatrixType = tuple[str, str, int]
"""Types of both operands of a matrix product, as HLO writes them, and its passes."""


@dataclass
class WorkTally:
    """FLOPs of a program, of all devices together."""

    full: dict[MatrixType, float] = field(default_factory=lambda: defaultdict(float))
    """FLOPs of matrix products and convolutions, as written."""
    least: dict[MatrixType, float] = field(default_factory=lambda: defaultdict(float))
    """The same without masked scores and kernels, and of the cheapest branches."""
    hoisted: dict[tuple[int, MatrixType], float] = field(default_factory=lambda: defaultdict(float))
    """Those of the least FLOPs whose operands only an outer loop changes, by how deep that is."""
    rematerialized: float = 0.0
    """Those of `full` that `jax.checkpoint` computes again."""
    kernels: float = 0.0
    """FLOPs that hand-written kernels claim for themselves; they are in `full`, too."""
    other: float = 0.0
    """Elements that all other operations compute."""
    unknown: set[str] = field(default_factory=set[str])
    """Parts that are not counted."""
    notes: set[str] = field(default_factory=set[str])
    """Assumptions in the counts."""

    def add_part(self, other: WorkTally, times: float = 1) -> None:
        """Add the work of a part that runs a number of times."""
        self._add_others(other, times)
        for place, flops in other.hoisted.items():
            self.hoisted[place] += times * flops

    def add_loop(self, body: WorkTally, turns: int, depth: int) -> None:
        """Add a loop; a compiler may compute once what is the same in every turn.

        Args:
            body: The work of one turn.
            turns: The number of turns.
            depth: The number of loops around this one.
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
        """Return the tally as fields of a result, without numbers of NumPy's types."""
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

"""One equation of a trace, with the needs of its results and the tally for its work."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tpustarter.probe.rehearse.jitted_functions import format_element_type
from tpustarter.probe.rehearse.work.constant_propagation import Parameters, ValueFact
from tpustarter.probe.rehearse.work.jaxpr import Equation, JaxprCall, count_elements
from tpustarter.probe.rehearse.work.tally import MatrixType, WorkTally

ALIVE = 1.0
"""The need of a value that is read to an unknown extent."""
_PRECISIONS = {"HIGH": 3, "HIGHEST": 6, "BF16_BF16_F32_X3": 3, "BF16_BF16_F32_X6": 6}
"""Passes over the bfloat16 parts of float32 operands. Source: docs.jax.dev, `jax.lax.Precision` and
`jax.lax.DotAlgorithmPreset` (read 2026-11)."""


class SpreadNeed(float):
    """A need that is spread over every row and every column, such as a causal mask leaves.

    The half of the scores that a causal mask leaves needs all queries and all keys. Any other half
    may be the scores of half the queries.
    """


@dataclass
class TraceStep:
    """One equation of a trace, and the need of each of its results."""

    call: JaxprCall
    equation: Equation
    wanted: Sequence[float]
    tally: WorkTally | None
    again: bool
    run: Callable[[JaxprCall, Sequence[float], WorkTally | None], list[float]]
    """Returns the needs of a program that the equation calls; see `need_rules.propagate_needs`."""
    is_repeated: bool = False
    """True if an equal operation was counted already; a compiler computes both once."""

    @property
    def params(self) -> Parameters:
        """The equation's parameters."""
        return self.equation.params

    @property
    def sizes(self) -> list[int]:
        """Number of elements of each operand."""
        return [count_elements(var) for var in self.equation.invars]

    @property
    def share(self) -> float:
        """The largest share that is needed of any result."""
        pairs = zip(self.wanted, self.equation.outvars, strict=True)
        return max((count / max(1, count_elements(var)) for count, var in pairs), default=0.0)

    @property
    def row_share(self) -> float:
        """The share of a result's rows, and of its columns, that is needed."""
        return 1.0 if any(isinstance(count, SpreadNeed) for count in self.wanted) else self.share

    def fact(self, number: int) -> ValueFact:
        """Return the fact about an operand."""
        return self.call.read_fact(self.equation.invars[number])

    def count_products(self, full: float, least: float, types: MatrixType | None = None) -> None:
        """Add the FLOPs of a matrix product or convolution."""
        if self.tally is None:
            return
        key = types or self._types()
        self.tally.full[key] += full
        level = max((self.call.read_level(var) for var in self.equation.invars), default=0)
        least = 0 if self.is_repeated else least
        if level < self.call.depth:
            self.tally.hoisted[level, key] += least
        else:
            self.tally.least[key] += least
        self.tally.rematerialized += full if self.again else 0

    def _types(self) -> MatrixType:
        left, right = (format_element_type(var.aval.dtype) for var in self.equation.invars[:2])
        precision = self.params.get("precision")
        names = re.findall(r"\w+", str(precision))  # `HIGHEST` for both, or for each
        passes = max(_PRECISIONS.get(name, 1) for name in names)
        return left, right, passes if left == right == "f32" else 1

    def leave_out(self, what: str) -> list[float]:
        """Record a part as not counted. Its operands are then read to an unknown extent."""
        if self.tally is not None:
            self.tally.unknown.add(what)
        return [ALIVE for _ in self.equation.invars]


Rule = Callable[[TraceStep, Sequence[JaxprCall]], list[float]]
"""Adds an equation's work and returns its operands' needs, given the programs that it calls."""

"""Rules for the work of each traced operation, and for the elements that it needs.

A value's need is the number of its elements that the program's results depend on, or fewer: a slice
needs only its own elements, and a gather may read one row repeatedly. A rule takes one equation
with the needs of its results, adds its work to a tally, and returns the needs of its operands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from tpustarter.probe.rehearse.work import constant_propagation
from tpustarter.probe.rehearse.work.constant_propagation import ValueFact
from tpustarter.probe.rehearse.work.control_flow_rules import CONTROL_FLOW_RULES
from tpustarter.probe.rehearse.work.jaxpr import (
    JaxprCall,
    TraceValue,
    count_elements,
    is_literal,
    runs_jaxpr,
)
from tpustarter.probe.rehearse.work.product_rules import PRODUCT_RULES
from tpustarter.probe.rehearse.work.tally import WorkTally
from tpustarter.probe.rehearse.work.trace_step import ALIVE, Rule, SpreadNeed, TraceStep

_REMATERIALIZED = "rematted_computation"
"""The name scope that JAX gives to operations that `jax.checkpoint` recomputes."""

_MOVES = {
    *constant_propagation.PASSING,
    "bitcast_convert_type",
    "broadcast_in_dim",
    "concatenate",
    "device_put",
    "dynamic_slice",
    "dynamic_update_slice",
    "expand_dims",
    "gather",
    "iota",
    "optimization_barrier",
    "pad",
    "reshape",
    "rev",
    "slice",
    "split",
    "squeeze",
    "transpose",
}
"""Operations that compute nothing."""
_UNPRICED = {
    "approx_top_k",
    "call_exported",
    "cholesky",
    "custom_linear_solve",
    "eig",
    "eigh",
    "fft",
    "ffi_call",
    "geqrf",
    "hessenberg",
    "householder_product",
    "io_callback",
    "lu",
    "pure_callback",
    "qr",
    "scaled_dot",
    "scaled_matmul",
    "scaled_matmul_wrapper",
    "schur",
    "svd",
    "tpu_custom_call",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
}
"""Operations whose FLOPs depend on an algorithm that the trace does not show."""


def propagate_needs(
    call: JaxprCall, results: Sequence[float], tally: WorkTally | None, *, again: bool = False
) -> list[float]:
    """Return the need of each argument, and add the work to a tally.

    Args:
        call: The call of the program.
        results: The need of each result.
        tally: The tally that the work is added to; None to compute only needs.
        again: True for a part that `jax.checkpoint` recomputes.
    """
    needs: dict[TraceValue, float] = {}

    def require(var: TraceValue, count: float) -> None:
        if not is_literal(var) and (before := needs.get(var, 0.0)) <= count:
            spread = isinstance(before, SpreadNeed) and before == count
            kind = SpreadNeed if spread or isinstance(count, SpreadNeed) else float
            needs[var] = kind(min(math.ceil(count), count_elements(var)))

    for var, count in zip(call.jaxpr.outvars, results, strict=True):
        require(var, count)
    call.cache.count_visits(len(call.jaxpr.eqns))
    computed: set[int] = set()
    for number in reversed(range(len(call.jaxpr.eqns))):
        equation = call.jaxpr.eqns[number]
        wanted = [needs.get(var, 0.0) for var in equation.outvars]
        if not any(wanted) and not equation.effects:
            continue
        scope = str(getattr(equation.source_info, "name_stack", ""))
        is_again = again or _REMATERIALIZED in scope
        run = partial(propagate_needs, again=is_again)
        step = TraceStep(call, equation, wanted, tally, is_again, run)
        first = call.equals.get(number, number)
        step.is_repeated = first in computed
        computed.add(first)
        rule = _find_rule(equation.primitive.name)
        inner = call.inner.get(number, [])
        for var, count in zip(equation.invars, rule(step, inner), strict=True):
            require(var, count)
    return [needs.get(var, 0.0) for var in call.jaxpr.invars]


def _count_elements(step: TraceStep, _inner: Sequence[JaxprCall]) -> list[float]:
    # The rule for every operation without one of its own. Elements hidden by two masks are assumed
    # to be the same ones, as in attention.
    name, sizes = step.equation.primitive.name, step.sizes
    if name in _UNPRICED:
        step.leave_out(f"`{name}`")
        return list[float](sizes)
    if runs_jaxpr(step.equation):
        return step.leave_out(f"`{name}`")
    if step.tally is not None and name not in _MOVES:
        elements = max([*sizes, *(count_elements(var) for var in step.equation.outvars)], default=0)
        step.tally.other += step.share * elements
    spread = any(isinstance(count, SpreadNeed) for count in step.wanted)
    hiding = [constant_propagation.NOTHING] * len(sizes)
    if name == "mul":
        hiding = [step.fact(1), step.fact(0)]
    elif name == "select_n" and (mask := step.fact(0).nonzero) is not None and len(sizes) == 3:
        hiding[1:] = [ValueFact(nonzero=~mask), ValueFact(nonzero=mask)]
    return [
        _limit(fact, step.share, size, spread=spread)
        for fact, size in zip(hiding, sizes, strict=True)
    ]


def _limit(fact: ValueFact, share: float, size: int, *, spread: bool) -> float:
    # The need of an operand, counting only elements that no other operand hides.
    if fact.support >= share:
        return SpreadNeed(share * size) if spread else share * size
    return SpreadNeed(fact.support * size) if fact.is_everywhere else fact.support * size


def _need_pad(step: TraceStep, inner: Sequence[JaxprCall]) -> list[float]:
    # Negative padding removes elements, and the unneeded ones may all be the operand's.
    if any(low < 0 or high < 0 for low, high, _ in step.params["padding_config"]):
        return [ALIVE, ALIVE]
    return _need_parts(step, inner)


def _need_slice(step: TraceStep, _inner: Sequence[JaxprCall]) -> list[float]:
    return [float(step.wanted[0]), *(float(size) for size in step.sizes[1:])]


def _need_gather(step: TraceStep, _inner: Sequence[JaxprCall]) -> list[float]:
    return [float(math.prod(step.params["slice_sizes"])), float(step.sizes[1])]


def _need_update(step: TraceStep, _inner: Sequence[JaxprCall]) -> list[float]:
    # An update in place neither reads nor keeps the elements that it replaces.
    scatters = step.equation.primitive.name.startswith("scatter")
    at = 2 if scatters else 1
    count, update = step.wanted[0], step.sizes[at]
    rest = [float(size) for size in step.sizes[1:]]
    rest[at - 1] = float(min(update, count))
    kept = max(0, count - update)
    return [float(kept) if kept or not scatters else ALIVE, *rest]


def _need_parts(step: TraceStep, _inner: Sequence[JaxprCall]) -> list[float]:
    missing = count_elements(step.equation.outvars[0]) - step.wanted[0]
    return [float(max(0, size - missing)) for size in step.sizes]


def _need_each(step: TraceStep, _inner: Sequence[JaxprCall]) -> list[float]:
    return [float(count) for count in step.wanted]


def _need_sum(step: TraceStep, _inner: Sequence[JaxprCall]) -> list[float]:
    return [float(sum(step.wanted)), *map(float, step.sizes[1:])]


_RULES: dict[str, Rule] = {
    **PRODUCT_RULES,
    **CONTROL_FLOW_RULES,
    **dict.fromkeys(("slice", "dynamic_slice"), _need_slice),
    "dynamic_update_slice": _need_update,
    "gather": _need_gather,
    "pad": _need_pad,
    "concatenate": _need_parts,
    "optimization_barrier": _need_each,
    "split": _need_sum,
}


def _find_rule(name: str) -> Rule:
    # The name depends on the version of JAX: `scatter`, `scatter-add`, `scatter_max` and others.
    return _need_update if name.startswith("scatter") else _RULES.get(name, _count_elements)

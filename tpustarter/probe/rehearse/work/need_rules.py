"""Rules on what each operation of a trace needs from its operands, and what it computes.

A value's need is the number of its elements that the program's results depend on, or fewer: a slice
of an array needs only its own elements, and a gather may read one row again and again. A rule takes
one equation with the need of its results, adds its work to a tally, and returns the needs of its
operands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tpustarter.probe.rehearse.jitted_functions import format_kind
from tpustarter.probe.rehearse.work import constant_masks
from tpustarter.probe.rehearse.work.constant_masks import Fact, Parameters
from tpustarter.probe.rehearse.work.jaxpr import (
    CALLS,
    Equation,
    Jaxpr,
    TraceFrame,
    TraceValue,
    count_elements,
    count_scan_operands,
    holds_program,
    is_literal,
)
from tpustarter.probe.rehearse.work.tally import MatrixType, WorkTally

MOST_PASSES = 4
"""Times that the body of a loop is looked at until its carry's need no longer grows."""
UNMERGED = "what `jax.checkpoint` with `prevent_cse=False` computes again is not merged"
DEAREST = "the branch of a `cond` with most FLOPs is taken"
_ALIVE = 1.0
"""The need of a value that is read, of which nobody knows how much."""
_REMATERIALIZED = "rematted_computation"
"""The scope that JAX gives to operations that `jax.checkpoint` computes again."""

_MOVES = {
    *constant_masks.PASSING,
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
_PRECISIONS = {"HIGH": 3, "HIGHEST": 6, "BF16_BF16_F32_X3": 3, "BF16_BF16_F32_X6": 6}
"""Passes over bfloat16 parts of float32 operands. Source: docs.jax.dev, `jax.lax.Precision` and
`jax.lax.DotAlgorithmPreset` (read 2026-11)."""


class Spread(float):
    """A need of elements in every row and every column, such as a causal mask leaves.

    The half of the scores that a causal mask leaves needs all queries and all keys; half of the
    scores without this may be those of half the queries.
    """


def trace_needs(
    frame: TraceFrame, results: Sequence[float], tally: WorkTally | None, *, again: bool = False
) -> list[float]:
    """Return the need of each argument, and add the work to a tally.

    Args:
        frame: The program.
        results: The need of each of its results.
        tally: Where the work is added; None for needs alone.
        again: Whether it is a part that `jax.checkpoint` computes again.
    """
    needs: dict[TraceValue, float] = {}

    def require(var: TraceValue, count: float) -> None:
        if not is_literal(var) and (before := needs.get(var, 0.0)) <= count:
            spread = isinstance(before, Spread) and before == count
            kind = Spread if spread or isinstance(count, Spread) else float
            needs[var] = kind(min(math.ceil(count), count_elements(var)))

    for var, count in zip(frame.jaxpr.outvars, results, strict=True):
        require(var, count)
    frame.known.look_at_equations(len(frame.jaxpr.eqns))
    computed: set[int] = set()
    for number in reversed(range(len(frame.jaxpr.eqns))):
        equation = frame.jaxpr.eqns[number]
        wanted = [needs.get(var, 0.0) for var in equation.outvars]
        if not any(wanted) and not equation.effects:
            continue
        scope = str(getattr(equation.source_info, "name_stack", ""))
        step = _Step(frame, equation, wanted, tally, again=again or _REMATERIALIZED in scope)
        first = frame.equals.get(number, number)
        step.is_repeated = first in computed
        computed.add(first)
        rule = _find_rule(equation.primitive.name)
        inner = frame.inner.get(number, [])
        for var, count in zip(equation.invars, rule(step, inner), strict=True):
            require(var, count)
    return [needs.get(var, 0.0) for var in frame.jaxpr.invars]


@dataclass
class _Step:
    """One equation of a trace, and the need of each of its results."""

    frame: TraceFrame
    equation: Equation
    wanted: Sequence[float]
    tally: WorkTally | None
    again: bool
    is_repeated: bool = False
    """True if an equal operation was counted, whose result a compiler takes for both."""

    @property
    def params(self) -> Parameters:
        return self.equation.params

    @property
    def sizes(self) -> list[int]:
        """Elements of each operand."""
        return [count_elements(var) for var in self.equation.invars]

    @property
    def share(self) -> float:
        """The largest share of a result that is needed."""
        pairs = zip(self.wanted, self.equation.outvars, strict=True)
        return max((count / max(1, count_elements(var)) for count, var in pairs), default=0.0)

    @property
    def row_share(self) -> float:
        """The share of the rows, and of the columns, of a result that is needed."""
        return 1.0 if any(isinstance(count, Spread) for count in self.wanted) else self.share

    def fact(self, number: int) -> Fact:
        return self.frame.read_fact(self.equation.invars[number])

    def count_products(self, full: float, least: float, types: MatrixType | None = None) -> None:
        """Add the FLOPs of a matrix product or convolution."""
        if self.tally is None:
            return
        key = types or self._types()
        self.tally.full[key] += full
        level = max((self.frame.read_level(var) for var in self.equation.invars), default=0)
        least = 0 if self.is_repeated else least
        if level < self.frame.depth:
            self.tally.hoisted[level, key] += least
        else:
            self.tally.least[key] += least
        self.tally.rematerialized += full if self.again else 0

    def _types(self) -> MatrixType:
        left, right = (format_kind(var.aval.dtype) for var in self.equation.invars[:2])
        precision = self.params.get("precision")
        names = re.findall(r"\w+", str(precision))  # `HIGHEST` for both, or for each
        passes = max(_PRECISIONS.get(name, 1) for name in names)
        return left, right, passes if left == right == "f32" else 1

    def leave_out(self, what: str) -> list[float]:
        """Record a part that is not counted; its operands are read, nobody knows how much."""
        if self.tally is not None:
            self.tally.unknown.add(what)
        return [_ALIVE for _ in self.equation.invars]

    def run(
        self, frame: TraceFrame, wanted: Sequence[float], tally: WorkTally | None
    ) -> list[float]:
        """Return the needs of a program that the equation calls."""
        return trace_needs(frame, wanted, tally, again=self.again)


def _count_elements(step: _Step, _inner: Sequence[TraceFrame]) -> list[float]:
    # The rule for every operation without one of its own. Elements that one mask hides and that
    # another one hides are taken to be the same, as in attention.
    name, sizes = step.equation.primitive.name, step.sizes
    if name in _UNPRICED:
        step.leave_out(f"`{name}`")
        return list[float](sizes)
    if holds_program(step.equation):
        return step.leave_out(f"`{name}`")
    if step.tally is not None and name not in _MOVES:
        elements = max([*sizes, *(count_elements(var) for var in step.equation.outvars)], default=0)
        step.tally.other += step.share * elements
    spread = any(isinstance(count, Spread) for count in step.wanted)
    hiding = [constant_masks.NOTHING] * len(sizes)
    if name == "mul":
        hiding = [step.fact(1), step.fact(0)]
    elif name == "select_n" and (mask := step.fact(0).nonzero) is not None and len(sizes) == 3:
        hiding[1:] = [Fact(nonzero=~mask), Fact(nonzero=mask)]
    return [
        _limit(fact, step.share, size, spread=spread)
        for fact, size in zip(hiding, sizes, strict=True)
    ]


def _limit(fact: Fact, share: float, size: int, *, spread: bool) -> float:
    # The need of an operand where only elements count that another operand does not hide.
    if fact.support >= share:
        return Spread(share * size) if spread else share * size
    return Spread(fact.support * size) if fact.is_everywhere else fact.support * size


def _count_dot(step: _Step, _inner: Sequence[TraceFrame]) -> list[float]:
    contracted, batch = step.params["dimension_numbers"]
    shape = step.equation.invars[0].aval.shape
    terms = math.prod(shape[int(axis)] for axis in contracted[0])
    elements = count_elements(step.equation.outvars[0])
    facts = step.fact(0), step.fact(1)
    full = 2.0 * terms * elements
    pairs = zip(batch, contracted, strict=True)
    axes = [[*map(int, both), *map(int, summed)] for both, summed in pairs]
    left = constant_masks.measure_terms(*facts, *axes)
    step.count_products(full, full * _share_of_both(step.share, left))
    needs: list[float] = []
    for own, other, size in zip(facts, facts[::-1], step.sizes, strict=True):
        met = 1.0 if other.is_everywhere else other.support
        count = size * _share_of_both(step.row_share, _share_of_both(own.support, met))
        needs.append(Spread(count) if own.support < 1 and own.is_everywhere else count)
    return needs


def _share_of_both(first: float, second: float) -> float:
    # The least share that is in two parts, wherever they are.
    return max(0.0, first + second - 1.0)


def _count_ragged_dot(step: _Step, _inner: Sequence[TraceFrame]) -> list[float]:
    # Each row of the left side is multiplied with the matrix of one group.
    numbers = step.params.get("ragged_dot_dimension_numbers")
    right = step.equation.invars[1].aval.shape
    if numbers is None:
        fixed = {0, 1}
    else:
        (_, contracted), (_, batch) = numbers.dot_dimension_numbers
        fixed = {*contracted, *batch, *numbers.rhs_group_dimensions}
    free = math.prod(size for axis, size in enumerate(right) if axis not in fixed)
    full = 2.0 * step.sizes[0] * free
    step.count_products(full, full * step.share)
    if step.tally is not None:
        step.tally.notes.add("the groups of a ragged product cover all of its rows")
    return [step.share * step.sizes[0], _ALIVE, *step.sizes[2:]]


def _count_convolution(step: _Step, _inner: Sequence[TraceFrame]) -> list[float]:
    axes: Sequence[Sequence[int]] = step.params["dimension_numbers"]
    left, right, out = axes
    image, kernel = (var.aval.shape for var in step.equation.invars)
    result = step.equation.outvars[0].aval.shape
    flops = 2.0 * result[out[0]] * result[out[1]] * kernel[right[1]]
    seen = 1.0
    for number in range(len(result) - 2):
        window = _Window(
            image[left[2 + number]],
            kernel[right[2 + number]],
            result[out[2 + number]],
            step.params["window_strides"][number],
            step.params["padding"][number][0],
            step.params["lhs_dilation"][number],
            step.params["rhs_dilation"][number],
        )
        flops *= window.count_taps()
        seen *= window.share_of_image
    step.count_products(flops, flops * step.share)
    return [step.share * seen * step.sizes[0], step.share * step.sizes[1]]


class _Window(NamedTuple):
    """A convolution along one axis; sizes are elements."""

    image: int
    kernel: int
    result: int
    stride: int
    padding: int
    image_dilation: int
    kernel_dilation: int

    @property
    def share_of_image(self) -> float:
        """The share of the image that meets a tap: a large stride steps over the rest."""
        if self.stride < self.kernel * self.kernel_dilation:
            return 1.0
        return min(1.0, self.result * self.kernel / max(1, self.image))

    def count_taps(self) -> int:
        """Return the pairs of a result and a tap that meet an element of the image."""
        reach = (self.image - 1) * self.image_dilation
        count = 0
        for tap in range(self.kernel):
            # Results r with 0 <= r * stride + offset <= reach, at a multiple of the dilation.
            offset = tap * self.kernel_dilation - self.padding
            first = max(0, -(offset // self.stride))
            last = min(self.result - 1, (reach - offset) // self.stride)
            if self.image_dilation == 1:
                count += max(0, last - first + 1)
            else:
                places = (r * self.stride + offset for r in range(first, last + 1))
                count += sum(place % self.image_dilation == 0 for place in places)
        return count


def _count_window(step: _Step, _inner: Sequence[TraceFrame]) -> list[float]:
    # A pooling reads no element between two of its windows.
    params, result = step.params, step.equation.outvars[0]
    is_gradient = step.equation.primitive.name == "select_and_scatter_add"
    small = step.equation.invars[0] if is_gradient else result
    image = step.equation.invars[1 if is_gradient else 0].aval.shape
    ones = [1] * len(image)
    seen = 1.0
    for axis, length in enumerate(image):
        seen *= _Window(
            length,
            params["window_dimensions"][axis],
            small.aval.shape[axis],
            params["window_strides"][axis],
            params["padding"][axis][0],
            params.get("base_dilation", ones)[axis],
            params.get("window_dilation", ones)[axis],
        ).share_of_image
    whole = math.prod(image)
    needs = [seen * size if size == whole else float(size) for size in step.sizes]
    if step.tally is not None:
        step.tally.other += step.share * max(*needs, count_elements(result))
    return [step.share * need for need in needs]


def _count_kernel(step: _Step, _inner: Sequence[TraceFrame]) -> list[float]:
    estimate = step.params.get("cost_estimate")
    info = step.params.get("name_and_src_info") or step.params.get("name")
    name = getattr(info, "name", info) or "without a name"
    if estimate is None:
        return step.leave_out(f"the kernel `{name}`, which gives no cost estimate")
    # An estimate may count what the kernel skips, and other operations than matrix products.
    largest = max(step.equation.invars, key=count_elements, default=None)
    kind = format_kind(largest.aval.dtype) if largest else "bf16"
    flops = float(estimate.flops)
    step.count_products(flops, 0.0, (kind, kind, 1))
    if step.tally is not None:
        step.tally.kernels += flops
        step.tally.notes.add(f"the kernel `{name}` has the FLOPs of its own cost estimate")
    return [_ALIVE for _ in step.equation.invars]


def _count_call(step: _Step, inner: Sequence[TraceFrame]) -> list[float]:
    params = step.params
    if step.tally and params.get("differentiated") and params.get("prevent_cse") is False:
        step.tally.notes.add(UNMERGED)
    if not inner or len(inner[0].jaxpr.invars) != len(step.equation.invars):
        return step.leave_out(f"`{step.equation.primitive.name}`")
    return step.run(inner[0], step.wanted, step.tally)


def _count_scan(step: _Step, inner: Sequence[TraceFrame]) -> list[float]:
    (body,) = inner
    length: int = step.params["length"]
    first, carries = count_scan_operands(step.params)
    stacked = [math.ceil(count / max(1, length)) for count in step.wanted[carries:]]
    carry = _settle_carry(step, body, step.wanted[:carries], first, stacked)
    tally = WorkTally()
    needs = step.run(body, [*carry, *stacked], tally)
    if step.tally is not None:
        step.tally.add_loop(tally, length, step.frame.depth)
    if not length:
        return [0.0] * first + [*step.wanted[:carries]] + [0.0] * len(needs)
    end = first + carries
    return [*map(float, needs[:end]), *(float(length * count) for count in needs[end:])]


def _settle_carry(
    step: _Step,
    body: TraceFrame,
    wanted: Sequence[float],
    first: int,
    stacked: Sequence[float] = (),
) -> list[float]:
    # What a turn needs of its carry, the turn before has to make.
    carry = list(wanted)
    for _ in range(MOST_PASSES):
        needs = step.run(body, [*carry, *stacked], None)
        grown = [max(pair) for pair in zip(carry, needs[first : first + len(carry)], strict=True)]
        if grown == carry:
            break
        carry = grown
    return carry


def _count_while(step: _Step, inner: Sequence[TraceFrame]) -> list[float]:
    test, body = inner
    trips = _count_trips(step, test.jaxpr, body.jaxpr)
    first, second = step.params["cond_nconsts"], step.params["body_nconsts"]
    if trips is None:
        step.leave_out("a while loop, whose number of turns only the run decides")
    tested = step.run(test, [1], None)
    wanted = [max(pair) for pair in zip(step.wanted, tested[first:], strict=True)]
    carry = _settle_carry(step, body, wanted, second)
    tally = WorkTally()
    needs = step.run(body, carry, tally)
    if step.tally is not None and trips:
        step.tally.add_loop(tally, trips, step.frame.depth)
    constants = needs[:second] if trips else [min(_ALIVE, count) for count in needs[:second]]
    start = [min(_ALIVE, count) for count in carry]
    return [float(count) for count in (*tested[:first], *constants, *start)]


def _count_trips(step: _Step, test: Jaxpr, body: Jaxpr) -> int | None:
    """Return how often a loop runs that counts up to a limit, as `fori_loop` makes one."""
    first, second = step.params["cond_nconsts"], step.params["body_nconsts"]
    if len(test.eqns) != 1 or test.eqns[0].primitive.name not in ("lt", "gt"):
        return None
    sides = test.eqns[0].invars
    counter, limit = sides if test.eqns[0].primitive.name == "lt" else sides[::-1]
    if counter not in test.invars[first:]:
        return None
    place = test.invars.index(counter) - first
    adds = [one for one in body.eqns if one.outvars[0] is body.outvars[place]]
    if (
        not adds
        or adds[0].primitive.name != "add"
        or (adds[0].invars[0] is not body.invars[second + place])
    ):
        return None
    numbers = (
        _read_number(step.fact(first + second + place)),
        _read_number(_limit_fact(step, test, body, limit)),
        getattr(adds[0].invars[1], "val", None),
    )
    start, end, by = (None if one is None else int(one) for one in numbers)
    if start is None or end is None or by is None or by <= 0:
        return None
    return max(0, math.ceil((end - start) / by))


def _limit_fact(step: _Step, test: Jaxpr, body: Jaxpr, limit: TraceValue) -> Fact:
    # The limit is a number, or a part of the carry that the body hands on.
    first, second = step.params["cond_nconsts"], step.params["body_nconsts"]
    if is_literal(limit):
        return constant_masks.make_known(getattr(limit, "val"))  # noqa: B009  of literals alone
    place = test.invars.index(limit) if limit in test.invars else -1
    if 0 <= place < first:
        return step.fact(place)
    if place < 0 or body.outvars[place - first] is not body.invars[second + place - first]:
        return constant_masks.NOTHING
    return step.fact(second + place)


def _read_number(fact: Fact) -> int | None:
    return None if fact.known is None or fact.known.size != 1 else int(fact.known.max())


def _count_cond(step: _Step, inner: Sequence[TraceFrame]) -> list[float]:
    tallies = [WorkTally() for _ in inner]
    pairs = zip(inner, tallies, strict=True)
    needs = [step.run(frame, step.wanted, tally) for frame, tally in pairs]
    if step.tally is not None:
        dearest = max(tallies, key=lambda one: sum(one.full.values()))
        cheapest = min(tallies, key=lambda one: sum(one.least.values()) + sum(one.hoisted.values()))
        if any(one.full != dearest.full for one in tallies):
            dearest.notes.add(DEAREST)
        step.tally.add_part(replace(dearest, least=cheapest.least, hoisted=cheapest.hoisted))
    least = [min(columns) for columns in zip(*needs, strict=True)]
    read = [any(columns) for columns in zip(*needs, strict=True)]
    return [1.0, *(float(max(a, b)) for a, b in zip(least, read, strict=True))]


def _count_shards(step: _Step, inner: Sequence[TraceFrame]) -> list[float]:
    (body,) = inner
    params = step.params
    sizes: dict[str, int] = dict(getattr(params.get("mesh"), "shape", {}))
    automatic = set(params.get("auto", ()))
    manual = set(params.get("manual_axes", sizes)) - automatic
    shards = params.get("axis_size") or math.prod(
        size for name, size in sizes.items() if name in manual
    )
    pairs = zip(step.wanted, step.equation.outvars, body.jaxpr.outvars, strict=True)
    wanted = [
        math.ceil(count / max(1, count_elements(out)) * count_elements(inside))
        for count, out, inside in pairs
    ]
    tally = WorkTally()
    needs = step.run(body, wanted, tally)
    if step.tally is not None:
        step.tally.add_part(tally, shards)
    inside = [count_elements(var) for var in body.jaxpr.invars]
    return [
        need / max(1, size) * whole
        for need, size, whole in zip(needs, inside, step.sizes, strict=True)
    ]


def _need_pad(step: _Step, inner: Sequence[TraceFrame]) -> list[float]:
    # Negative padding removes elements, and those that are not needed may all be of the operand.
    if any(low < 0 or high < 0 for low, high, _ in step.params["padding_config"]):
        return [_ALIVE, _ALIVE]
    return _need_parts(step, inner)


def _need_slice(step: _Step, _inner: Sequence[TraceFrame]) -> list[float]:
    return [float(step.wanted[0]), *(float(size) for size in step.sizes[1:])]


def _need_gather(step: _Step, _inner: Sequence[TraceFrame]) -> list[float]:
    return [float(math.prod(step.params["slice_sizes"])), float(step.sizes[1])]


def _need_update(step: _Step, _inner: Sequence[TraceFrame]) -> list[float]:
    # In place, the elements that are replaced are neither read nor written otherwise.
    scatters = step.equation.primitive.name.startswith("scatter")
    at = 2 if scatters else 1
    count, update = step.wanted[0], step.sizes[at]
    rest = [float(size) for size in step.sizes[1:]]
    rest[at - 1] = float(min(update, count))
    kept = max(0, count - update)
    return [float(kept) if kept or not scatters else _ALIVE, *rest]


def _need_parts(step: _Step, _inner: Sequence[TraceFrame]) -> list[float]:
    missing = count_elements(step.equation.outvars[0]) - step.wanted[0]
    return [float(max(0, size - missing)) for size in step.sizes]


def _need_each(step: _Step, _inner: Sequence[TraceFrame]) -> list[float]:
    return [float(count) for count in step.wanted]


def _need_sum(step: _Step, _inner: Sequence[TraceFrame]) -> list[float]:
    return [float(sum(step.wanted)), *map(float, step.sizes[1:])]


Rule = Callable[[_Step, Sequence[TraceFrame]], list[float]]
_RULES: dict[str, Rule] = {
    **dict.fromkeys(CALLS, _count_call),
    **dict.fromkeys(("shard_map", "xla_pmap"), _count_shards),
    **dict.fromkeys(("slice", "dynamic_slice"), _need_slice),
    "dynamic_update_slice": _need_update,
    **dict.fromkeys(("ragged_dot", "ragged_dot_general"), _count_ragged_dot),
    "dot_general": _count_dot,
    "conv_general_dilated": _count_convolution,
    **dict.fromkeys(
        (
            "reduce_window",
            "reduce_window_max",
            "reduce_window_min",
            "reduce_window_sum",
            "select_and_scatter_add",
        ),
        _count_window,
    ),
    "pallas_call": _count_kernel,
    "scan": _count_scan,
    "while": _count_while,
    "cond": _count_cond,
    "gather": _need_gather,
    "pad": _need_pad,
    "concatenate": _need_parts,
    "optimization_barrier": _need_each,
    "split": _need_sum,
}


def _find_rule(name: str) -> Rule:
    # `scatter`, `scatter-add`, `scatter_max` and others, by the version of JAX.
    return _need_update if name.startswith("scatter") else _RULES.get(name, _count_elements)

"""The work of a program, counted in its trace: FLOPs by type, and the bytes it has to move.

Two figures are counted at once. The full one is the program as it is written: of a `cond` the branch
with most FLOPs, of attention every score. The least one is what no compiler can leave out: the
branch with fewest, and only scores that a constant mask leaves. Operations whose result nothing
needs count in neither. Counts are of all devices together.

A value's need is the number of its elements that the program's results depend on, or fewer: a slice
of an array needs only its own elements, and a gather may read one row again and again.

Only names that every JAX since 0.6.2 has are used here, and a jaxpr is read by its attributes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tpustarter.probe.rehearse import constant_masks
from tpustarter.probe.rehearse.constant_masks import NOTHING, Fact
from tpustarter.probe.rehearse.jitted_functions import format_kind

MOST_PASSES = 4
"""Times that the body of a loop is looked at until its carry's need no longer grows."""
_ALIVE = 1
"""The need of a value that is read, of which nobody knows how much."""
_REMATERIALIZED = "rematted_computation"
"""The scope that JAX gives to operations that `jax.checkpoint` computes again."""

_CALLS = {
    "jit",
    "pjit",
    "closed_call",
    "core_call",
    "custom_jvp_call",
    "custom_vjp_call",
    "custom_vjp_call_jaxpr",
    "remat2",
    "checkpoint",
    "remat",
    "custom_lin",
}
_BODIES = ("jaxpr", "call_jaxpr", "fun_jaxpr")
"""Parameters with the program that an operation calls."""
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

MatrixType = tuple[str, str, int]
"""Types of both operands of a matrix product, as HLO writes them, and its passes."""


@dataclass
class WorkTally:
    """FLOPs of a program, of all devices together."""

    full: Counter[MatrixType] = field(default_factory=Counter[MatrixType])
    """FLOPs of matrix products and convolutions, as written."""
    least: Counter[MatrixType] = field(default_factory=Counter[MatrixType])
    """The same without masked scores, and of the cheapest branches."""
    rematerialized: float = 0.0
    """Those of `full` that `jax.checkpoint` computes again."""
    kernels: float = 0.0
    """FLOPs that hand-written kernels claim for themselves; they are in `full` and `least`, too."""
    other: float = 0.0
    """Elements that all other operations compute."""
    unknown: set[str] = field(default_factory=set[str])
    """Parts that are not counted."""
    notes: set[str] = field(default_factory=set[str])
    """Assumptions in the counts."""

    def add(self, other: WorkTally, times: float = 1) -> None:
        """Add the work of a part that runs a number of times."""
        for mine, theirs in ((self.full, other.full), (self.least, other.least)):
            for key, flops in theirs.items():
                mine[key] += times * flops  # pyright: ignore[reportArgumentType]  too large for int
        self.rematerialized += times * other.rematerialized
        self.kernels += times * other.kernels
        self.other += times * other.other
        self.unknown |= other.unknown
        self.notes |= other.notes


def count_work(traced: Any, leaves: Sequence[Any], devices: int) -> dict[str, Any]:
    """Return the work of a traced program, as fields of a result.

    A trace of a kind that is not known costs only these fields: they are the reason then.

    Args:
        traced: The result of `jax.jit(f).trace(...)`.
        leaves: Its arguments, flat; their shardings say how much of each a device holds.
        devices: The number of devices.
    """
    try:
        return _count(traced, leaves, devices)
    except Exception as error:  # noqa: BLE001  a trace of another JAX may be anything
        return {"reason": f"its trace could not be read: {type(error).__name__}: {error}"[:200]}


def _count(traced: Any, leaves: Sequence[Any], devices: int) -> dict[str, Any]:
    closed = traced.jaxpr
    frame = _look(closed.jaxpr, [NOTHING] * len(closed.jaxpr.invars), closed.consts)
    donated = _donated(traced, len(closed.jaxpr.invars))
    origins = _origins(closed.jaxpr, list(range(len(closed.jaxpr.invars))))
    written = [
        min(changed, _size(var)) if origin in donated else _size(var)
        for var, (origin, changed) in zip(closed.jaxpr.outvars, origins, strict=True)
    ]
    tally = WorkTally()
    needs = _trace_needs(frame, written, tally)
    return {
        "devices": devices,
        "matrix": [
            {
                "left": left,
                "right": right,
                "passes": passes,
                "flops": flops,
                "least_flops": tally.least[left, right, passes],
            }
            for (left, right, passes), flops in sorted(tally.full.items())
        ],
        "rematerialized_flops": tally.rematerialized,
        "kernel_flops": tally.kernels,
        "other_operations": tally.other,
        "unknown": sorted(tally.unknown),
        "assumes": sorted(tally.notes),
        "read_bytes": sum(
            _device_bytes(var, leaf, need, devices)
            for var, leaf, need in zip(closed.jaxpr.invars, leaves, needs, strict=True)
        ),
        "written_shares": {
            str(number): count / max(1, _size(var))
            for number, (var, count) in enumerate(zip(closed.jaxpr.outvars, written, strict=True))
            if count < _size(var)
        },
    }


def _donated(traced: Any, count: int) -> set[int]:
    import jax

    infos = jax.tree_util.tree_leaves(traced.args_info)
    flags = [bool(getattr(info, "donated", False)) for info in infos]
    return {n for n, flag in enumerate(flags) if flag} if len(flags) == count else set()


def _device_bytes(var: Any, leaf: Any, need: int, devices: int) -> float:
    # Without a sharding the compiler may choose one, and at best each device has its own part.
    sharding = getattr(leaf, "sharding", None)
    if getattr(sharding, "memory_kind", None) not in (None, "device"):
        return 0.0
    share = 1 / devices
    if hasattr(sharding, "shard_shape") and _size(var):
        share = math.prod(sharding.shard_shape(tuple(var.aval.shape))) / _size(var)
    return need * share * getattr(var.aval.dtype, "itemsize", 0)


def _size(var: Any) -> int:
    return math.prod(getattr(var.aval, "shape", ()))


def _is_literal(var: Any) -> bool:
    return hasattr(var, "val")


class _Frame:
    """A jaxpr in one place where it is called, with the facts that hold there."""

    def __init__(self, jaxpr: Any, facts: dict[Any, Fact]) -> None:
        self.jaxpr = jaxpr
        self.facts = facts
        self.inner: dict[int, list[_Frame]] = {}
        """The programs that an equation calls, by the number of the equation."""

    def fact(self, var: Any) -> Fact:
        if _is_literal(var):
            return constant_masks.make_known(var.val)
        return self.facts.get(var, NOTHING)


def _look(jaxpr: Any, facts: Sequence[Fact], constants: Sequence[Any] = ()) -> _Frame:
    known = dict(zip(jaxpr.invars, facts, strict=True))
    for var, value in zip(jaxpr.constvars, constants, strict=False):
        if str(getattr(value, "dtype", "")).startswith(("bool", "int")):  # masks; weights are large
            known[var] = constant_masks.make_known(value)
    frame = _Frame(jaxpr, known)
    for number, equation in enumerate(jaxpr.eqns):
        name, params = equation.primitive.name, equation.params
        operands = [frame.fact(var) for var in equation.invars]
        if name in _CALLS and (body := _body(params)):
            inner = _look_inside(body, operands)
            frame.inner[number] = [inner]
            results = [inner.fact(var) for var in inner.jaxpr.outvars]
        elif name in ("scan", "while", "cond", "shard_map", "xla_pmap"):
            frame.inner[number] = [
                _look_inside(one, given) for one, given in _list_bodies(name, params, operands)
            ]
            continue
        elif len(equation.outvars) == 1:
            shapes = [getattr(var.aval, "shape", ()) for var in equation.invars]
            shape = getattr(equation.outvars[0].aval, "shape", ())
            results = [constant_masks.derive(name, params, operands, shapes, shape)]
        else:
            results = operands if name == "optimization_barrier" else []
        frame.facts |= {
            var: fact
            for var, fact in zip(equation.outvars, results, strict=False)
            if fact is not NOTHING
        }
    return frame


def _look_inside(body: Any, facts: Sequence[Fact]) -> _Frame:
    jaxpr = getattr(body, "jaxpr", body)
    if len(facts) != len(jaxpr.invars):
        facts = [NOTHING] * len(jaxpr.invars)
    return _look(jaxpr, facts, getattr(body, "consts", ()))


def _body(params: Any) -> Any:
    return next((params[name] for name in _BODIES if name in params), None)


def _list_bodies(
    name: str, params: Any, facts: Sequence[Fact]
) -> list[tuple[Any, Sequence[Fact]]]:
    # Only what is the same in every turn of a loop is known inside.
    if name == "scan":
        kept = params["num_consts"]
        return [(params["jaxpr"], [*facts[:kept], *[NOTHING] * (len(facts) - kept)])]
    if name == "while":
        first, second = params["cond_nconsts"], params["body_nconsts"]
        carry = [NOTHING] * (len(facts) - first - second)
        return [
            (params["cond_jaxpr"], [*facts[:first], *carry]),
            (params["body_jaxpr"], [*facts[first : first + second], *carry]),
        ]
    if name == "cond":
        return [(branch, facts[1:]) for branch in params["branches"]]
    return [(_body(params), [NOTHING] * len(facts))]


def _origins(jaxpr: Any, numbers: Sequence[int | None]) -> list[tuple[int | None, int]]:
    """Return for each result the argument that it is, after updates in place, and their elements."""
    found: dict[Any, tuple[int | None, int]] = {
        var: (number, 0) for var, number in zip(jaxpr.invars, numbers, strict=True)
    }

    def of(var: Any) -> tuple[int | None, int]:
        return (None, 0) if _is_literal(var) else found.get(var, (None, 0))

    for equation in jaxpr.eqns:
        name, params = equation.primitive.name, equation.params
        if name == "dynamic_update_slice" or name.startswith("scatter"):
            update = equation.invars[1 if name == "dynamic_update_slice" else 2]
            origin, changed = of(equation.invars[0])
            found[equation.outvars[0]] = origin, changed + _size(update)
        elif name in _CALLS and (body := _body(params)):
            inner = getattr(body, "jaxpr", body)
            given = [of(var) for var in equation.invars]
            for var, (number, changed) in zip(
                equation.outvars, _origins(inner, range(len(given))), strict=True
            ):
                if number is not None:
                    found[var] = given[number][0], given[number][1] + changed
        elif name == "scan":
            # A carry that is updated in place in each turn stays where it was.
            first, carries = params["num_consts"], params["num_carry"]
            inner = _origins(params["jaxpr"].jaxpr, range(len(equation.invars)))
            for number in range(carries):
                origin, changed = inner[number]
                if origin == first + number:
                    before = of(equation.invars[first + number])
                    found[equation.outvars[number]] = before[0], before[1] + changed
        elif name in (*constant_masks.PASSING, "optimization_barrier") and (
            name != "convert_element_type"
        ):
            found |= {
                out: of(var) for out, var in zip(equation.outvars, equation.invars, strict=True)
            }
    return [of(var) for var in jaxpr.outvars]


def _trace_needs(
    frame: _Frame, results: Sequence[int], tally: WorkTally | None, *, again: bool = False
) -> list[int]:
    """Return the need of each argument, and add the work to a tally.

    Args:
        frame: The program.
        results: The need of each of its results.
        tally: Where the work is added; None for needs alone.
        again: Whether it is a part that `jax.checkpoint` computes again.
    """
    needs: dict[Any, int] = {}

    def require(var: Any, count: float) -> None:
        if not _is_literal(var):
            needs[var] = max(needs.get(var, 0), min(math.ceil(count), _size(var)))

    for var, count in zip(frame.jaxpr.outvars, results, strict=True):
        require(var, count)
    for number in reversed(range(len(frame.jaxpr.eqns))):
        equation = frame.jaxpr.eqns[number]
        wanted = [needs.get(var, 0) for var in equation.outvars]
        if not any(wanted) and not equation.effects:
            continue
        scope = str(getattr(equation.source_info, "name_stack", ""))
        step = _Step(frame, equation, wanted, tally, again=again or _REMATERIALIZED in scope)
        rule = _RULES.get(equation.primitive.name, _count_elements)
        inner = frame.inner.get(number, [])
        for var, count in zip(equation.invars, rule(step, inner), strict=True):
            require(var, count)
    return [needs.get(var, 0) for var in frame.jaxpr.invars]


@dataclass
class _Step:
    """One equation of a trace, and the need of each of its results."""

    frame: _Frame
    equation: Any
    wanted: Sequence[int]
    tally: WorkTally | None
    again: bool

    @property
    def params(self) -> Any:
        return self.equation.params

    @property
    def sizes(self) -> list[int]:
        """Elements of each operand."""
        return [_size(var) for var in self.equation.invars]

    @property
    def share(self) -> float:
        """The largest share of a result that is needed."""
        pairs = zip(self.wanted, self.equation.outvars, strict=True)
        return max((count / max(1, _size(var)) for count, var in pairs), default=0.0)

    def fact(self, number: int) -> Fact:
        return self.frame.fact(self.equation.invars[number])

    def count_products(self, full: float, least: float, types: MatrixType | None = None) -> None:
        """Add the FLOPs of a matrix product or convolution."""
        if self.tally is None:
            return
        key = types or self._types()
        self.tally.full[key] += full  # pyright: ignore[reportArgumentType]  too large for int
        self.tally.least[key] += least  # pyright: ignore[reportArgumentType]
        self.tally.rematerialized += full if self.again else 0

    def _types(self) -> MatrixType:
        left, right = (format_kind(var.aval.dtype) for var in self.equation.invars[:2])
        given = self.params.get("precision")
        given = given if isinstance(given, tuple) else (given,)
        names = [str(getattr(one, "name", one)) for one in given]
        passes = max(_PRECISIONS.get(name, 1) for name in names)
        return left, right, passes if left == right == "f32" else 1

    def leave_out(self, what: str) -> list[int]:
        """Record a part that is not counted; its operands are read, nobody knows how much."""
        if self.tally is not None:
            self.tally.unknown.add(what)
        return [_ALIVE for _ in self.equation.invars]

    def run(self, frame: _Frame, wanted: Sequence[int], tally: WorkTally | None) -> list[int]:
        """Return the needs of a program that the equation calls."""
        return _trace_needs(frame, wanted, tally, again=self.again)


def _count_elements(step: _Step, _inner: Sequence[_Frame]) -> list[float]:
    # The rule for every operation without one of its own. Elements that one mask hides and that
    # another one hides are taken to be the same, as in attention.
    name, sizes = step.equation.primitive.name, step.sizes
    if name in _UNPRICED:
        step.leave_out(f"`{name}`")
        return list[float](sizes)
    if step.tally is not None and name not in _MOVES:
        elements = max([*sizes, *(_size(var) for var in step.equation.outvars)], default=0)
        step.tally.other += step.share * elements
    shares = [step.share] * len(sizes)
    if name == "mul":
        shares = [min(step.share, step.fact(1 - number).support) for number in (0, 1)]
    elif name == "select_n" and (mask := step.fact(0).known) is not None and len(sizes) == 3:
        true = float((mask != 0).mean())
        shares = [step.share, min(step.share, 1 - true), min(step.share, true)]
    return [share * size for share, size in zip(shares, sizes, strict=True)]


def _count_dot(step: _Step, _inner: Sequence[_Frame]) -> list[float]:
    (left, right), _ = step.params["dimension_numbers"]
    terms = math.prod(step.equation.invars[0].aval.shape[axis] for axis in left)
    elements = _size(step.equation.outvars[0])
    supports = step.fact(0).support, step.fact(1).support
    full = 2.0 * terms * elements
    step.count_products(full, full * step.share * min(supports))
    del right
    return [
        step.share * size * min(supports) for size in step.sizes
    ]


def _count_ragged_dot(step: _Step, _inner: Sequence[_Frame]) -> list[float]:
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


def _count_convolution(step: _Step, _inner: Sequence[_Frame]) -> list[float]:
    left, right, out = step.params["dimension_numbers"]
    image, kernel = (var.aval.shape for var in step.equation.invars)
    result = step.equation.outvars[0].aval.shape
    flops = 2.0 * result[out[0]] * result[out[1]] * kernel[right[1]]
    for number in range(len(result) - 2):
        flops *= _taps(
            image[left[2 + number]],
            kernel[right[2 + number]],
            result[out[2 + number]],
            step.params["window_strides"][number],
            step.params["padding"][number][0],
            step.params["lhs_dilation"][number],
            step.params["rhs_dilation"][number],
        )
    step.count_products(flops, flops * step.share)
    return [step.share * size for size in step.sizes]


def _taps(
    image: int, kernel: int, result: int, stride: int, low: int, dilation: int, spread: int
) -> int:
    """Return the pairs of a result and a tap along one axis that meet an element of the image."""
    reach = (image - 1) * dilation
    count = 0
    for tap in range(kernel):
        # Results r with 0 <= r * stride + offset <= reach, at a multiple of the dilation.
        offset = tap * spread - low
        first = max(0, -(offset // stride))
        last = min(result - 1, (reach - offset) // stride)
        if dilation == 1:
            count += max(0, last - first + 1)
        else:
            count += sum((r * stride + offset) % dilation == 0 for r in range(first, last + 1))
    return count


def _count_kernel(step: _Step, _inner: Sequence[_Frame]) -> list[float]:
    estimate = step.params.get("cost_estimate")
    info = step.params.get("name_and_src_info") or step.params.get("name")
    name = getattr(info, "name", info) or "without a name"
    if estimate is None:
        return list[float](step.leave_out(f"the kernel `{name}`, which gives no cost estimate"))
    kinds = [format_kind(var.aval.dtype) for var in step.equation.invars]
    kind = next((one for one in kinds if one.startswith(("f", "bf"))), "bf16")
    flops = float(estimate.flops)
    step.count_products(flops, flops, (kind, kind, 1))
    if step.tally is not None:
        step.tally.kernels += flops
        step.tally.notes.add(f"the kernel `{name}` needs the FLOPs of its own cost estimate")
    return [float(_ALIVE) for _ in step.equation.invars]


def _count_call(step: _Step, inner: Sequence[_Frame]) -> list[float]:
    if not inner or len(inner[0].jaxpr.invars) != len(step.equation.invars):
        return list[float](step.leave_out(f"`{step.equation.primitive.name}`"))
    return list[float](step.run(inner[0], step.wanted, step.tally))


def _count_scan(step: _Step, inner: Sequence[_Frame]) -> list[float]:
    (body,) = inner
    length, first = step.params["length"], step.params["num_consts"]
    carries = step.params["num_carry"]
    stacked = [math.ceil(count / max(1, length)) for count in step.wanted[carries:]]
    carry = list(step.wanted[:carries])
    for _ in range(MOST_PASSES):
        needs = step.run(body, [*carry, *stacked], None)
        grown = [max(pair) for pair in zip(carry, needs[first : first + carries], strict=True)]
        if grown == carry:
            break
        carry = grown
    tally = WorkTally()
    needs = step.run(body, [*carry, *stacked], tally)
    if step.tally is not None:
        step.tally.add(tally, length)
    if not length:
        return [0.0] * first + list[float](step.wanted[:carries]) + [0.0] * len(needs)
    end = first + carries
    return [*map(float, needs[:end]), *(float(length * count) for count in needs[end:])]


def _count_while(step: _Step, inner: Sequence[_Frame]) -> list[float]:
    test, body = inner
    trips = _trips(step, test.jaxpr, body.jaxpr)
    first, second = step.params["cond_nconsts"], step.params["body_nconsts"]
    if trips is None:
        step.leave_out("a while loop, whose number of turns only the run decides")
    tally = WorkTally()
    sizes = [_size(var) for var in step.equation.outvars]
    needs = step.run(body, sizes, tally)
    if step.tally is not None and trips:
        step.tally.add(tally, trips)
    tested = step.run(test, [1], None)
    constants = needs[:second] if trips else [min(_ALIVE, count) for count in needs[:second]]
    carry = [min(_ALIVE, size) for size in sizes]
    return [float(count) for count in (*tested[:first], *constants, *carry)]


def _trips(step: _Step, test: Any, body: Any) -> int | None:
    """Return how often a loop runs that counts to a limit, as `fori_loop` makes them."""
    first, second = step.params["cond_nconsts"], step.params["body_nconsts"]
    equations = [one for one in test.eqns if one.outvars[0] is test.outvars[0]]
    if len(test.eqns) != 1 or not equations or equations[0].primitive.name not in ("lt", "gt"):
        return None
    sides = equations[0].invars if equations[0].primitive.name == "lt" else equations[0].invars[::-1]
    counter, limit = sides
    if _is_literal(counter) or counter not in test.invars[first:]:
        return None
    place = test.invars.index(counter) - first
    start = step.fact(first + second + place).known
    inside = body.invars[second + place]
    adds = [one for one in body.eqns if one.outvars[0] is body.outvars[place]]
    if not adds or adds[0].primitive.name != "add" or adds[0].invars[0] is not inside:
        return None
    by = getattr(adds[0].invars[1], "val", None)
    end = _constant(step, test, body, limit)
    if start is None or end is None or not isinstance(by, int) and getattr(by, "size", 0) != 1:
        return None
    return max(0, math.ceil((int(end) - int(start)) / int(by))) if by is not None and by > 0 else None


def _constant(step: _Step, test: Any, body: Any, limit: Any) -> Any:
    # The limit is a number, or a part of the carry that the body hands on.
    first, second = step.params["cond_nconsts"], step.params["body_nconsts"]
    if _is_literal(limit):
        return limit.val
    place = test.invars.index(limit) if limit in test.invars else -1
    if 0 <= place < first:
        return step.fact(place).known
    at = place - first
    if place < 0 or body.outvars[at] is not body.invars[second + at]:
        return None
    return step.fact(first + second + at).known


def _count_cond(step: _Step, inner: Sequence[_Frame]) -> list[float]:
    tallies = [WorkTally() for _ in inner]
    needs = [
        step.run(frame, step.wanted, tally) for frame, tally in zip(inner, tallies, strict=True)
    ]
    if step.tally is not None:
        dearest = max(tallies, key=lambda one: one.full.total())
        cheapest = min(tallies, key=lambda one: one.least.total())
        step.tally.add(dearest)
        step.tally.least.subtract(dearest.least)
        step.tally.least.update(cheapest.least)
        if dearest.full.total() != min(one.full.total() for one in tallies):
            step.tally.notes.add("the branch of a `cond` with most FLOPs is taken")
    least = [min(columns) for columns in zip(*needs, strict=True)]
    read = [any(columns) for columns in zip(*needs, strict=True)]
    return [1.0, *(float(max(a, b)) for a, b in zip(least, read, strict=True))]


def _count_shards(step: _Step, inner: Sequence[_Frame]) -> list[float]:
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
        math.ceil(count / max(1, _size(out)) * _size(inside)) for count, out, inside in pairs
    ]
    tally = WorkTally()
    needs = step.run(body, wanted, tally)
    if step.tally is not None:
        step.tally.add(tally, shards)
    inside = [_size(var) for var in body.jaxpr.invars]
    return [
        need / max(1, size) * whole
        for need, size, whole in zip(needs, inside, step.sizes, strict=True)
    ]


def _need_slice(step: _Step, _inner: Sequence[_Frame]) -> list[float]:
    return [float(step.wanted[0]), *(float(size) for size in step.sizes[1:])]


def _need_gather(step: _Step, _inner: Sequence[_Frame]) -> list[float]:
    return [float(math.prod(step.params["slice_sizes"])), float(step.sizes[1])]


def _need_update(step: _Step, _inner: Sequence[_Frame]) -> list[float]:
    # In place, the elements that are replaced are neither read nor written otherwise.
    scatters = step.equation.primitive.name.startswith("scatter")
    at = 2 if scatters else 1
    count, update = step.wanted[0], step.sizes[at]
    rest = [float(size) for size in step.sizes[1:]]
    rest[at - 1] = float(min(update, count))
    kept = max(0, count - update)
    return [float(kept) if kept or not scatters else float(_ALIVE), *rest]


def _need_parts(step: _Step, _inner: Sequence[_Frame]) -> list[float]:
    missing = _size(step.equation.outvars[0]) - step.wanted[0]
    return [float(max(0, size - missing)) for size in step.sizes]


def _need_each(step: _Step, _inner: Sequence[_Frame]) -> list[float]:
    return [float(count) for count in step.wanted]


def _need_sum(step: _Step, _inner: Sequence[_Frame]) -> list[float]:
    return [float(sum(step.wanted)), *map(float, step.sizes[1:])]


Rule = Callable[[_Step, Sequence[_Frame]], list[float]]
_RULES: dict[str, Rule] = {
    **dict.fromkeys(_CALLS, _count_call),
    **dict.fromkeys(("shard_map", "xla_pmap"), _count_shards),
    **dict.fromkeys(("slice", "dynamic_slice"), _need_slice),
    **dict.fromkeys(
        ("dynamic_update_slice", "scatter", "scatter-add", "scatter_add", "scatter_mul",
         "scatter_min", "scatter_max", "scatter-update"),
        _need_update,
    ),
    **dict.fromkeys(("ragged_dot", "ragged_dot_general"), _count_ragged_dot),
    "dot_general": _count_dot,
    "conv_general_dilated": _count_convolution,
    "pallas_call": _count_kernel,
    "scan": _count_scan,
    "while": _count_while,
    "cond": _count_cond,
    "gather": _need_gather,
    "concatenate": _need_parts,
    "optimization_barrier": _need_each,
    "split": _need_sum,
}

"""Jaxprs as their attributes show them, and facts about their values known before a run.

Only attributes that JAX has from 0.6.2 to 0.12 are used.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, Protocol

from tpustarter.probe.rehearse.work import constant_propagation
from tpustarter.probe.rehearse.work.constant_propagation import NOTHING, Parameters, ValueFact


class ArrayType(Protocol):
    """A value's type: `jax.core.ShapedArray`."""

    shape: tuple[int, ...]
    dtype: object


class TraceValue(Protocol):
    """A variable or a literal of a jaxpr."""

    aval: ArrayType


class Primitive(Protocol):
    """The operation of an equation."""

    name: str


class Equation(Protocol):
    """One operation of a jaxpr, with its operands and results."""

    primitive: Primitive
    params: Parameters
    invars: list[TraceValue]
    outvars: list[TraceValue]
    effects: Collection[object]
    source_info: object


class Jaxpr(Protocol):
    """A traced program."""

    invars: list[TraceValue]
    constvars: list[TraceValue]
    outvars: list[TraceValue]
    eqns: list[Equation]


CALLS = {
    "call",
    "composite",
    "custom_partitioning",
    "custom_vmap_call",
    "eval_jaxpr",
    "linear_call",
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
}
"""Operations that run another program once."""
DEDUPLICATED_PRIMITIVES = {
    "broadcast_in_dim",
    "conv_general_dilated",
    "convert_element_type",
    "dot_general",
    "reshape",
    "squeeze",
    "transpose",
}
"""Products and the operations that usually precede them; equal ones are counted once."""
LOOPS = ("scan", "while", "cond", "shard_map", "xla_pmap")
"""Operations that run other programs repeatedly, conditionally, or on several devices."""
MOST_EQUATIONS = 200_000
"""Most equations visited, a called program's at each call: half a minute at most."""
MOST_KEPT = 2**26
"""Most elements of cached results."""
_BODIES = ("jaxpr", "call_jaxpr", "fun_jaxpr", "call", "callee")
"""Parameters that hold the program an operation calls."""


def count_elements(value: TraceValue) -> int:
    """Return a value's number of elements."""
    return math.prod(getattr(value.aval, "shape", ()))


def is_literal(value: TraceValue) -> bool:
    """Return whether a value is a literal."""
    return hasattr(value, "val")


def find_called_jaxpr(params: Parameters) -> object | None:
    """Return the jaxpr that an operation calls, or None if it calls none."""
    return next((params[name] for name in _BODIES if name in params), None)


def count_scan_operands(params: Parameters) -> tuple[int, int]:
    """Return how many constants and how many carries a scan's operands begin with.

    The remaining operands are the arrays that are scanned over.
    """
    if "ft_in" not in params:
        return params["num_consts"], params["num_carry"]
    constants, carries, _ = params["ft_in"].unpack()  # from JAX 0.12 on, a tree of operands
    return len(constants), len(carries)


def runs_jaxpr(equation: Equation) -> bool:
    """Return whether an operation runs a jaxpr on arrays. A reduction's jaxpr runs on scalars."""
    params = equation.params
    return any(
        count_elements(var) != 1
        for called in (*params.values(), *params.get("branches", ()))
        if hasattr(jaxpr := unwrap_closed_jaxpr(called), "eqns")
        for var in (*jaxpr.invars, *jaxpr.outvars)
    )


def unwrap_closed_jaxpr(called: object) -> Jaxpr:
    """Return the open jaxpr of a `ClosedJaxpr`; any other jaxpr is returned unchanged."""
    inner: Any = getattr(called, "jaxpr", called)  # both have the attributes of a program
    return inner


class TraceTooLargeError(Exception):
    """Raised for a trace with too many equations to visit."""


class FactCache:
    """A cache of derived facts, because the layers of a model derive the same mask again."""

    def __init__(self) -> None:
        self._results: dict[tuple[object, ...], tuple[ValueFact, Sequence[ValueFact]]] = {}
        self._kept = 0
        self._visited = 0

    def count_visits(self, count: int) -> None:
        """Count equations as visited, again at each call and in each pass over a loop.

        Raises:
            TraceTooLargeError: There are more than `MOST_EQUATIONS`.
        """
        self._visited += count
        if self._visited > MOST_EQUATIONS:
            raise TraceTooLargeError

    def _keep(
        self, key: tuple[object, ...], fact: ValueFact, operands: Sequence[ValueFact]
    ) -> None:
        # The operands are kept alive, because their ids are part of the key.
        self._kept += sum(one.size for one in fact if one is not None)
        if self._kept > MOST_KEPT:
            self._results.clear()
            self._kept = 0
        self._results[key] = fact, operands

    def derive(self, equation: Equation, facts: Sequence[ValueFact]) -> ValueFact:
        """Return the fact about an equation's only result."""
        name, params = equation.primitive.name, equation.params
        if name != "iota" and all(fact is NOTHING for fact in facts):
            return NOTHING
        shapes = tuple(_shape(value) for value in equation.invars)
        shape = _shape(equation.outvars[0])
        names = ("dimension", "broadcast_dimensions", "permutation", "new_dtype", "dtype")
        decisive = [params.get(key) for key in names]
        key = (name, str(decisive), shapes, shape, *map(id, facts))
        if key not in self._results:
            self._keep(
                key, constant_propagation.derive_fact(name, params, facts, shapes, shape), facts
            )
        return self._results[key][0]

    def read_literal(self, value: object) -> ValueFact:
        """Return the fact about a literal's value."""
        key = ("literal", str(getattr(value, "dtype", type(value))), str(value))
        if key not in self._results:
            self._keep(key, constant_propagation.make_constant_fact(value), ())
        return self._results[key][0]


class JaxprCall:
    """A jaxpr as called at one site, with the facts about its values there."""

    def __init__(
        self, jaxpr: Jaxpr, facts: dict[TraceValue, ValueFact], cache: FactCache, depth: int
    ) -> None:
        self.jaxpr = jaxpr
        self.facts = facts
        self.cache = cache
        self.depth = depth
        """The number of enclosing loops."""
        self.levels: dict[TraceValue, int] = {}
        """Depth of the innermost loop that changes a value, counted from the outermost."""
        self.inner: dict[int, list[JaxprCall]] = {}
        """The programs that an equation calls, keyed by the equation's index."""
        self.equals: dict[int, int] = {}
        """Index of the first of equal equations, keyed by that of a later one; only for
        `DEDUPLICATED_PRIMITIVES`."""

    def read_fact(self, value: TraceValue) -> ValueFact:
        """Return the fact about a value."""
        if is_literal(value):
            return self.cache.read_literal(getattr(value, "val"))  # noqa: B009  only literals have it
        return self.facts.get(value, NOTHING)

    def read_level(self, value: TraceValue) -> int:
        """Return the depth of the innermost loop that changes a value; 0 for none."""
        return 0 if is_literal(value) else self.levels.get(value, 0)


def make_jaxpr_call(
    called: object,
    facts: Sequence[ValueFact] = (),
    cache: FactCache | None = None,
    levels: Sequence[int] = (),
    depth: int = 0,
) -> JaxprCall:
    """Return the call of a jaxpr, with all calls inside it.

    Args:
        called: The program.
        facts: Facts about its arguments; empty if nothing is known.
        cache: The cache of derived facts; None for a program that nothing calls.
        levels: Depth of the innermost loop that changes each argument; empty for `depth`.
        depth: The number of enclosing loops.

    Raises:
        TraceTooLargeError: The program has too many equations.
    """
    jaxpr = unwrap_closed_jaxpr(called)
    given = facts if len(facts) == len(jaxpr.invars) else [NOTHING] * len(jaxpr.invars)
    known = dict(zip(jaxpr.invars, given, strict=True))
    for value, constant in zip(jaxpr.constvars, getattr(called, "consts", ()), strict=False):
        if str(getattr(constant, "dtype", "")).startswith(("bool", "int")):  # a mask, not a weight
            known[value] = constant_propagation.make_constant_fact(constant)
    call = JaxprCall(jaxpr, known, cache or FactCache(), depth)
    call.cache.count_visits(len(jaxpr.eqns))
    changed = levels if len(levels) == len(jaxpr.invars) else [depth] * len(jaxpr.invars)
    call.levels |= zip(jaxpr.invars, changed, strict=True)
    for number, equation in enumerate(jaxpr.eqns):
        level = max((call.read_level(value) for value in equation.invars), default=0)
        call.levels |= dict.fromkeys(equation.outvars, level)
        derived = _derive_results(call, number, equation)
        for value, fact in zip(equation.outvars, derived, strict=False):
            if fact is not NOTHING:
                call.facts[value] = fact
    call.equals = _find_equal_equations(jaxpr)
    return call


def _find_equal_equations(jaxpr: Jaxpr) -> dict[int, int]:
    """Return the index of the first equal equation, keyed by the later one's index."""
    first: dict[tuple[object, ...], int] = {}
    equals: dict[int, int] = {}
    same: dict[TraceValue, TraceValue] = {}
    for number, equation in enumerate(jaxpr.eqns):
        operands = equation.invars
        if equation.primitive.name not in DEDUPLICATED_PRIMITIVES or any(map(is_literal, operands)):
            continue
        names = (id(same.get(value, value)) for value in operands)
        key = (equation.primitive.name, str(equation.params), *names)
        at = first.setdefault(key, number)
        if at != number:
            equals[number] = at
            same |= zip(equation.outvars, jaxpr.eqns[at].outvars, strict=True)
    return equals


def _derive_results(call: JaxprCall, number: int, equation: Equation) -> Sequence[ValueFact]:
    name, params, cache = equation.primitive.name, equation.params, call.cache
    operands = [call.read_fact(value) for value in equation.invars]
    if name in CALLS and (body := find_called_jaxpr(params)):
        levels = [call.read_level(value) for value in equation.invars]
        inner = make_jaxpr_call(body, operands, cache, levels, call.depth)
        call.inner[number] = [inner]
        inside = (inner.read_level(value) for value in inner.jaxpr.outvars)
        call.levels |= zip(equation.outvars, inside, strict=False)
        return [inner.read_fact(value) for value in inner.jaxpr.outvars]
    if name in LOOPS:
        levels = _list_levels(call, equation)
        depth = call.depth + (name in ("scan", "while"))
        bodies = zip(_list_bodies(name, params, operands), levels, strict=True)
        call.inner[number] = [
            make_jaxpr_call(body, given, cache, changed, depth) for (body, given), changed in bodies
        ]
        if name == "scan":
            return _stacked_facts(call.inner[number][0], count_scan_operands(params)[1])
        return ()
    if len(equation.outvars) != 1:
        return operands if name == "optimization_barrier" else ()
    return (cache.derive(equation, operands),)


def _shape(value: TraceValue) -> tuple[int, ...]:
    return getattr(value.aval, "shape", ())


def _stacked_facts(body: JaxprCall, carries: int) -> list[ValueFact]:
    # A mask hides the same elements of a result in every iteration.
    facts = [body.read_fact(value) for value in body.jaxpr.outvars[carries:]]
    return [NOTHING] * carries + [constant_propagation.derive_stacked_fact(fact) for fact in facts]


def _list_levels(call: JaxprCall, equation: Equation) -> list[list[int]]:
    # A carry that the body passes on unchanged has the level of its initial value.
    name, params = equation.primitive.name, equation.params
    levels = [call.read_level(value) for value in equation.invars]
    inside = call.depth + 1

    def carry(body: Jaxpr, first: int, start: Sequence[int]) -> list[int]:
        pairs = zip(body.invars[first:], body.outvars, start, strict=False)
        return [level if before is after else inside for before, after, level in pairs]

    if name == "scan":
        first, carries = count_scan_operands(params)
        body = unwrap_closed_jaxpr(params["jaxpr"])
        own = carry(body, first, levels[first : first + carries])
        return [levels[:first] + own + [inside] * (len(levels) - first - carries)]
    if name == "while":
        first, second = params["cond_nconsts"], params["body_nconsts"]
        own = carry(unwrap_closed_jaxpr(params["body_jaxpr"]), second, levels[first + second :])
        return [levels[:first] + own, levels[first : first + second] + own]
    if name == "cond":
        return [levels[1:] for _ in params["branches"]]
    return [levels] if find_called_jaxpr(params) else []


def _list_bodies(
    name: str, params: Parameters, facts: Sequence[ValueFact]
) -> list[tuple[object, Sequence[ValueFact]]]:
    # Inside a loop, only facts that hold in every iteration are known.
    if name == "scan":
        constants, carries = count_scan_operands(params)
        slices = [
            constant_propagation.derive_iteration_fact(fact)
            for fact in facts[constants + carries :]
        ]
        return [(params["jaxpr"], [*facts[:constants], *[NOTHING] * carries, *slices])]
    if name == "while":
        first, second = params["cond_nconsts"], params["body_nconsts"]
        carry = [NOTHING] * (len(facts) - first - second)
        return [
            (params["cond_jaxpr"], [*facts[:first], *carry]),
            (params["body_jaxpr"], [*facts[first : first + second], *carry]),
        ]
    if name == "cond":
        return [(branch, facts[1:]) for branch in params["branches"]]
    body = find_called_jaxpr(params)
    return [(body, ())] if body else []

"""A jaxpr as its attributes show it, and what is known about its values before anything runs.

Only attributes that every JAX since 0.6.2 has are named here.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from tpustarter.probe.rehearse.work import constant_masks
from tpustarter.probe.rehearse.work.constant_masks import NOTHING, Fact


class ArrayType(Protocol):
    """The type of a value: `jax.core.ShapedArray`."""

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
    params: Mapping[str, Any]
    invars: list[TraceValue]
    outvars: list[TraceValue]
    effects: Collection[object]
    source_info: object


class Jaxpr(Protocol):
    """A program as JAX traces it."""

    invars: list[TraceValue]
    constvars: list[TraceValue]
    outvars: list[TraceValue]
    eqns: list[Equation]


CALLS = {
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
LOOPS = ("scan", "while", "cond", "shard_map", "xla_pmap")
"""Operations that run other programs several times, in part, or on several devices."""
_BODIES = ("jaxpr", "call_jaxpr", "fun_jaxpr")
"""Parameters with the program that an operation calls."""


def count_elements(value: TraceValue) -> int:
    """Return the number of elements of a value."""
    return math.prod(getattr(value.aval, "shape", ()))


def is_literal(value: TraceValue) -> bool:
    """Return whether a value is a number that stands in the program."""
    return hasattr(value, "val")


class CalledProgram(Protocol):
    """A jaxpr that an operation calls, with or without constants of its own."""


def read_body(params: Mapping[str, Any]) -> CalledProgram | None:
    """Return the program that an operation calls; None where it calls none."""
    return next((params[name] for name in _BODIES if name in params), None)


def open_program(called: CalledProgram) -> Jaxpr:
    """Return the jaxpr of a program, which may be closed over constants."""
    inner: Any = getattr(called, "jaxpr", called)
    return inner


class KnownResults:
    """Results that were derived already: the layers of a model derive the same mask again."""

    def __init__(self) -> None:
        self._results: dict[tuple[object, ...], tuple[Fact, Sequence[Fact]]] = {}

    def derive(self, equation: Equation, facts: Sequence[Fact]) -> Fact:
        """Return the fact about the one result of an equation."""
        name, params = equation.primitive.name, equation.params
        if name != "iota" and all(fact is NOTHING for fact in facts):
            return NOTHING
        shapes = tuple(_shape(value) for value in equation.invars)
        shape = _shape(equation.outvars[0])
        decisive = [params.get(key) for key in ("dimension", "broadcast_dimensions", "permutation")]
        key = (name, str(decisive), shapes, shape, *map(id, facts))
        if key not in self._results:
            result = constant_masks.derive(name, params, facts, shapes, shape)
            self._results[key] = result, facts  # the operands are kept, as their ids are the key
        return self._results[key][0]

    def read_literal(self, value: object) -> Fact:
        """Return the fact about a number that stands in the program."""
        key = ("literal", str(getattr(value, "dtype", type(value))), str(value))
        if key not in self._results:
            self._results[key] = constant_masks.make_known(value), ()
        return self._results[key][0]


class TraceFrame:
    """A jaxpr in one place where it is called, with the facts that hold there."""

    def __init__(self, jaxpr: Jaxpr, facts: dict[TraceValue, Fact], known: KnownResults) -> None:
        self.jaxpr = jaxpr
        self.facts = facts
        self.known = known
        self.inner: dict[int, list[TraceFrame]] = {}
        """The programs that an equation calls, by the number of the equation."""

    def read_fact(self, value: TraceValue) -> Fact:
        """Return the fact about a value."""
        if is_literal(value):
            return self.known.read_literal(getattr(value, "val"))  # noqa: B009  of literals alone
        return self.facts.get(value, NOTHING)


def look_at(
    called: CalledProgram, facts: Sequence[Fact] = (), results: KnownResults | None = None
) -> TraceFrame:
    """Return the frame of a program, and of all that it calls.

    Args:
        called: The program.
        facts: Facts about its arguments; empty where nothing is known.
        results: Results that were derived already; None for a program that nothing calls.
    """
    jaxpr = open_program(called)
    given = facts if len(facts) == len(jaxpr.invars) else [NOTHING] * len(jaxpr.invars)
    known = dict(zip(jaxpr.invars, given, strict=True))
    for value, constant in zip(jaxpr.constvars, getattr(called, "consts", ()), strict=False):
        if str(getattr(constant, "dtype", "")).startswith(("bool", "int")):  # a mask, no weight
            known[value] = constant_masks.make_known(constant)
    frame = TraceFrame(jaxpr, known, results or KnownResults())
    for number, equation in enumerate(jaxpr.eqns):
        derived = _derive_results(frame, number, equation)
        for value, fact in zip(equation.outvars, derived, strict=False):
            if fact is not NOTHING:
                frame.facts[value] = fact
    return frame


def _derive_results(frame: TraceFrame, number: int, equation: Equation) -> Sequence[Fact]:
    name, params, known = equation.primitive.name, equation.params, frame.known
    operands = [frame.read_fact(value) for value in equation.invars]
    if name in CALLS and (body := read_body(params)):
        inner = look_at(body, operands, known)
        frame.inner[number] = [inner]
        return [inner.read_fact(value) for value in inner.jaxpr.outvars]
    if name in LOOPS:
        bodies = _list_bodies(name, params, operands)
        frame.inner[number] = [look_at(body, given, known) for body, given in bodies]
        return _stacked_facts(frame.inner[number][0], params) if name == "scan" else ()
    if len(equation.outvars) != 1:
        return operands if name == "optimization_barrier" else ()
    return (known.derive(equation, operands),)


def _shape(value: TraceValue) -> tuple[int, ...]:
    return getattr(value.aval, "shape", ())


def _stacked_facts(body: TraceFrame, params: Mapping[str, Any]) -> list[Fact]:
    # A mask hides the same elements of a result in every turn.
    carries: int = params["num_carry"]
    facts = [body.read_fact(value) for value in body.jaxpr.outvars[carries:]]
    return [NOTHING] * carries + [constant_masks.add_axis(fact) for fact in facts]


def _list_bodies(
    name: str, params: Mapping[str, Any], facts: Sequence[Fact]
) -> list[tuple[CalledProgram, Sequence[Fact]]]:
    # Only what is the same in every turn of a loop is known inside.
    if name == "scan":
        constants, carries = params["num_consts"], params["num_carry"]
        slices = [constant_masks.take_slice(fact) for fact in facts[constants + carries :]]
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
    body = read_body(params)
    return [(body, ())] if body else []

"""Rules for operations that run another program: calls, loops, branches and shards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tpustarter.probe.rehearse.work import constant_propagation
from tpustarter.probe.rehearse.work.constant_propagation import ValueFact
from tpustarter.probe.rehearse.work.jaxpr import (
    CALLS,
    Jaxpr,
    JaxprCall,
    TraceValue,
    count_elements,
    count_scan_operands,
    is_literal,
)
from tpustarter.probe.rehearse.work.tally import WorkTally
from tpustarter.probe.rehearse.work.trace_step import ALIVE, Rule, TraceStep

MOST_PASSES = 4
"""Most passes over a loop's body until its carry's need stops growing."""
UNMERGED = "what `jax.checkpoint` with `prevent_cse=False` computes again is not merged"
DEAREST = "the branch of a `cond` with most FLOPs is taken"


def _count_call(step: TraceStep, inner: Sequence[JaxprCall]) -> list[float]:
    params = step.params
    if step.tally and params.get("differentiated") and params.get("prevent_cse") is False:
        step.tally.notes.add(UNMERGED)
    if not inner or len(inner[0].jaxpr.invars) != len(step.equation.invars):
        return step.leave_out(f"`{step.equation.primitive.name}`")
    return step.run(inner[0], step.wanted, step.tally)


def _count_scan(step: TraceStep, inner: Sequence[JaxprCall]) -> list[float]:
    (body,) = inner
    length: int = step.params["length"]
    first, carries = count_scan_operands(step.params)
    stacked = [math.ceil(count / max(1, length)) for count in step.wanted[carries:]]
    carry = _settle_carry(step, body, step.wanted[:carries], first, stacked)
    tally = WorkTally()
    needs = step.run(body, [*carry, *stacked], tally)
    if step.tally is not None:
        step.tally.add_loop(tally, length, step.call.depth)
    if not length:
        return [0.0] * first + [*step.wanted[:carries]] + [0.0] * len(needs)
    end = first + carries
    return [*map(float, needs[:end]), *(float(length * count) for count in needs[end:])]


def _settle_carry(
    step: TraceStep,
    body: JaxprCall,
    wanted: Sequence[float],
    first: int,
    stacked: Sequence[float] = (),
) -> list[float]:
    # Each iteration must produce what the next one needs of the carry.
    carry = list(wanted)
    for _ in range(MOST_PASSES):
        needs = step.run(body, [*carry, *stacked], None)
        grown = [max(pair) for pair in zip(carry, needs[first : first + len(carry)], strict=True)]
        if grown == carry:
            break
        carry = grown
    return carry


def _count_while(step: TraceStep, inner: Sequence[JaxprCall]) -> list[float]:
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
        step.tally.add_loop(tally, trips, step.call.depth)
    constants = needs[:second] if trips else [min(ALIVE, count) for count in needs[:second]]
    start = [min(ALIVE, count) for count in carry]
    return [float(count) for count in (*tested[:first], *constants, *start)]


def _count_trips(step: TraceStep, test: Jaxpr, body: Jaxpr) -> int | None:
    """Return the trip count of a loop that counts up to a limit, such as a `fori_loop`, or None."""
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


def _limit_fact(step: TraceStep, test: Jaxpr, body: Jaxpr, limit: TraceValue) -> ValueFact:
    # The limit is a literal, a constant, or a carry that the body passes on unchanged.
    first, second = step.params["cond_nconsts"], step.params["body_nconsts"]
    if is_literal(limit):
        return constant_propagation.make_constant_fact(getattr(limit, "val"))  # noqa: B009  only literals have it
    place = test.invars.index(limit) if limit in test.invars else -1
    if 0 <= place < first:
        return step.fact(place)
    if place < 0 or body.outvars[place - first] is not body.invars[second + place - first]:
        return constant_propagation.NOTHING
    return step.fact(second + place)


def _read_number(fact: ValueFact) -> int | None:
    return None if fact.known is None or fact.known.size != 1 else int(fact.known.max())


def _count_cond(step: TraceStep, inner: Sequence[JaxprCall]) -> list[float]:
    tallies = [WorkTally() for _ in inner]
    pairs = zip(inner, tallies, strict=True)
    needs = [step.run(call, step.wanted, tally) for call, tally in pairs]
    if step.tally is not None:
        dearest = max(tallies, key=lambda one: sum(one.full.values()))
        cheapest = min(tallies, key=lambda one: sum(one.least.values()) + sum(one.hoisted.values()))
        if any(one.full != dearest.full for one in tallies):
            dearest.notes.add(DEAREST)
        step.tally.add_part(replace(dearest, least=cheapest.least, hoisted=cheapest.hoisted))
    least = [min(columns) for columns in zip(*needs, strict=True)]
    read = [any(columns) for columns in zip(*needs, strict=True)]
    return [1.0, *(float(max(a, b)) for a, b in zip(least, read, strict=True))]


def _count_shards(step: TraceStep, inner: Sequence[JaxprCall]) -> list[float]:
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


CONTROL_FLOW_RULES: dict[str, Rule] = {
    **dict.fromkeys(CALLS, _count_call),
    **dict.fromkeys(("shard_map", "xla_pmap"), _count_shards),
    "scan": _count_scan,
    "while": _count_while,
    "cond": _count_cond,
}

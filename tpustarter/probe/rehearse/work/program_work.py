"""Count a program's work in its trace: FLOPs by type, and the bytes that it has to move.

Two figures are counted at once. The full one is for the program as written: the branch of a `cond`
with the most FLOPs, and every score of attention. The least one is for what the results need: the
branch with the fewest FLOPs, only the scores that a constant mask leaves, products that are equal
or the same in every iteration once, and no kernels. A compiler that simplifies the program further
may do with less. Operations whose result is unused count in neither. Counts are for all devices
together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tpustarter.probe.rehearse.jax_types import Traced
from tpustarter.probe.rehearse.rehearsal_messages import WorkFields
from tpustarter.probe.rehearse.work import constant_propagation
from tpustarter.probe.rehearse.work.jaxpr import (
    CALLS,
    Equation,
    Jaxpr,
    TraceTooLargeError,
    TraceValue,
    count_elements,
    count_scan_operands,
    find_called_jaxpr,
    is_literal,
    make_jaxpr_call,
    unwrap_closed_jaxpr,
)
from tpustarter.probe.rehearse.work.need_rules import propagate_needs
from tpustarter.probe.rehearse.work.tally import WorkTally

_COMPUTED = "computed"
"""The origin of a result whose elements are all written."""
_COMPUTING = {"add", "add_any", "sub", "mul", "div", "dot_general", "convert_element_type"}
"""Operations that write every element of their result, such as an optimizer's last ones."""


def count_work(traced: Traced, leaves: Sequence[object], devices: int) -> WorkFields:
    """Return a traced program's work as fields of a result.

    If the trace cannot be read, they hold only the reason.

    Args:
        traced: The result of `jax.jit(f).trace(...)`.
        leaves: Its flattened arguments; their shardings show which are in host memory.
        devices: The number of devices.
    """
    try:
        return _count(traced, leaves, devices)
    except TraceTooLargeError:
        return {"reason": "its trace has too many operations, counted at each call"}
    except Exception as error:  # noqa: BLE001  a trace of another JAX may be anything
        return {"reason": f"its trace could not be read: {type(error).__name__}: {error}"[:200]}


def _count(traced: Traced, leaves: Sequence[object], devices: int) -> WorkFields:
    call = make_jaxpr_call(traced.jaxpr)
    arguments, results = call.jaxpr.invars, call.jaxpr.outvars
    if len(leaves) != len(arguments):  # they include static arguments
        leaves = [None] * len(arguments)
    written = _count_written(call.jaxpr, _list_donated(traced, len(arguments)))
    tally = WorkTally()
    needs = propagate_needs(call, written, tally)
    return {
        "devices": devices,
        **tally.as_fields(),
        "read_bytes": float(
            sum(
                _device_bytes(value, leaf, need, devices)
                for value, leaf, need in zip(arguments, leaves, needs, strict=True)
            )
        ),
        "written_shares": {
            str(number): float(count / max(1, count_elements(value)))
            for number, (value, count) in enumerate(zip(results, written, strict=True))
        },
    }


def _list_donated(traced: Traced, count: int) -> set[int]:
    import jax

    infos = jax.tree_util.tree_leaves(traced.args_info)
    flags = [bool(getattr(info, "donated", False)) for info in infos]
    return {n for n, flag in enumerate(flags) if flag} if len(flags) == count else set()


def _device_bytes(value: TraceValue, leaf: object, need: float, devices: int) -> float:
    # A device may need only part of a replicated argument, but some device reads each part.
    sharding = getattr(leaf, "sharding", None)
    if getattr(sharding, "memory_kind", None) not in (None, "device", "unpinned_host"):
        return 0.0
    return need / devices * getattr(value.aval.dtype, "itemsize", 0)


def _count_written(jaxpr: Jaxpr, donated: set[int]) -> list[int]:
    # A result that reuses an argument's memory is written only where it differs.
    given = {_format_type(jaxpr.invars[number]) for number in donated}
    counts: list[int] = []
    for value, (origin, changed) in zip(jaxpr.outvars, _find_origins(jaxpr), strict=True):
        count = count_elements(value)
        if origin in donated or (isinstance(origin, int) and not changed):
            count = min(changed, count)
        elif origin is None and _format_type(value) in given:
            count = 0
        counts.append(count)
    return counts


def _format_type(value: TraceValue) -> str:
    return f"{getattr(value.aval, 'dtype', '')}{getattr(value.aval, 'shape', ())}"


Origin = tuple[int | str | None, int]
"""An argument's index, `_COMPUTED`, or None if unknown; and the number of elements replaced."""


def _find_origins(jaxpr: Jaxpr) -> list[Origin]:
    """Return the argument that each result comes from, and the elements that updates replace."""
    found: dict[TraceValue, Origin] = {
        value: (number, 0) for number, value in enumerate(jaxpr.invars)
    }

    def of(var: TraceValue) -> Origin:
        return (None, 0) if is_literal(var) else found.get(var, (None, 0))

    for equation in jaxpr.eqns:
        name, params = equation.primitive.name, equation.params
        if name == "dynamic_update_slice" or name.startswith("scatter"):
            update = equation.invars[1 if name == "dynamic_update_slice" else 2]
            origin, changed = of(equation.invars[0])
            found[equation.outvars[0]] = origin, changed + count_elements(update)
        elif name in CALLS and (body := find_called_jaxpr(params)):
            given = [of(var) for var in equation.invars]
            inside = _find_origins(unwrap_closed_jaxpr(body))
            for var, (number, changed) in zip(equation.outvars, inside, strict=True):
                if isinstance(number, int):
                    found[var] = given[number][0], given[number][1] + changed
                else:
                    found[var] = number, changed
        elif name == "scan":
            given = [of(var) for var in equation.invars]
            found |= zip(equation.outvars, _find_carries(equation, given), strict=False)
        elif name in _COMPUTING and not any(map(is_literal, equation.invars)):
            found[equation.outvars[0]] = _COMPUTED, 0
        elif name in (*constant_propagation.PASSING, "optimization_barrier") and (
            name != "convert_element_type"
        ):
            found |= {
                out: of(var) for out, var in zip(equation.outvars, equation.invars, strict=True)
            }
    return [of(var) for var in jaxpr.outvars]


def _find_carries(equation: Equation, given: Sequence[Origin]) -> Iterator[Origin]:
    # A carry that each iteration updates in place keeps its memory.
    first, carries = count_scan_operands(equation.params)
    inside = _find_origins(unwrap_closed_jaxpr(equation.params["jaxpr"]))
    for number, (origin, changed) in enumerate(inside[:carries], first):
        if origin == number:
            yield given[number][0], given[number][1] + changed
        else:
            yield _COMPUTED if origin == _COMPUTED else None, 0

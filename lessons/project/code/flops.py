"""The operations of a program, and the FLOPs of its matmuls, from its trace.

A compiled program's `cost_analysis` counts the body of a loop once, however
often it runs, so it is no help for a scan over layers.
"""

import math

import jax


def operations(function, *args):
    """Yield each operation of a function's trace, and how often it runs."""
    yield from _walk(jax.make_jaxpr(function)(*args).jaxpr, 1)


def of_matmuls(function, *args):
    """Return the FLOPs of all matmuls of a function, loops multiplied."""
    total = 0
    for operation, times in operations(function, *args):
        if operation.primitive.name == "dot_general":
            total += times * _of_matmul(operation)
    return total


def _walk(jaxpr, times):
    for equation in jaxpr.eqns:
        yield equation, times
        repeats = equation.params.get("length", 1)  # of a scan
        for inner in _inside(equation.params):
            yield from _walk(inner, times * repeats)


def _of_matmul(equation):
    (contracted, _), _ = equation.params["dimension_numbers"]
    left = equation.invars[0].aval.shape
    terms = math.prod(left[axis] for axis in contracted)
    return 2 * terms * math.prod(equation.outvars[0].aval.shape)


def _inside(params):
    """Yield the programs that an operation calls, such as a loop's body."""
    for value in params.values():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            inner = getattr(one, "jaxpr", one)
            if hasattr(inner, "eqns"):
                yield inner

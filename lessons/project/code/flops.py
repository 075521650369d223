"""The FLOPs of a program's matmuls, counted in its trace.

A compiled program's `cost_analysis` counts the body of a loop once, however
often it runs, so it is no help for a scan over layers.
"""

import math

import jax


def of_matmuls(function, *args):
    """Return the FLOPs of all matmuls of a function, loops multiplied."""
    return _count(jax.make_jaxpr(function)(*args).jaxpr)


def _count(jaxpr):
    total = 0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            total += _of_one(equation)
        repeats = equation.params.get("length", 1)  # of a scan
        for inner in _inside(equation.params):
            total += repeats * _count(inner)
    return total


def _of_one(equation):
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

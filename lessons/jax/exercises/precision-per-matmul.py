"""Use high precision in one of two matmuls.

`refine` improves `x`, an approximate solution of `a @ x = b`, with an
approximate inverse of `a`. It computes two products: the residual of `b`,
and the correction. On a TPU each takes one pass at default precision, and
the solution stays wrong in its third digit however often you refine it.
Request `highest` precision in one of the two products, so that six digits
are right. Then one product takes six passes and the other still takes one.
The judge computes as a TPU does, on any machine.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Literal


def refine(a, inverse, b, x):
    """Return a better `x: float32[n, 1]`; `a` has the shape `(n, n)`."""
    residual = b - jnp.matmul(a, x)  # your code here
    return x + jnp.matmul(inverse, residual)  # or here


# Judged below: leave this part as it is.

PASSES = {
    "HIGH": 3,
    "HIGHEST": 6,
    "BF16_BF16_F32_X3": 3,
    "BF16_BF16_F32_X6": 6,
}


def parts(m, n):
    """Return `m` as a sum of `n` bfloat16 numbers each."""
    first = m.astype(jnp.bfloat16).astype(jnp.float32)
    return [first, *(parts(m - first, n - 1) if n > 1 else ())]


def on_a_tpu(program, values, passes):
    """Run a program as a TPU does; add each product's passes to `passes`."""
    known = dict(zip(program.jaxpr.invars, values, strict=True))
    known |= dict(zip(program.jaxpr.constvars, program.consts, strict=True))
    for equation in program.jaxpr.eqns:
        given = [
            v.val if isinstance(v, Literal) else known[v]
            for v in equation.invars
        ]
        if equation.primitive.name == "dot_general":
            precision = equation.params["precision"]
            if isinstance(precision, tuple):
                precision = precision[0]
            n = PASSES.get(getattr(precision, "name", ""), 1)
            passes.append(n)
            count = {1: 1, 3: 2, 6: 3}[n]
            left, right = (parts(jnp.asarray(m), count) for m in given)
            numbers = equation.params["dimension_numbers"]
            results = [
                sum(
                    lax.dot_general(left[i], right[j], numbers)
                    for i in range(count)
                    for j in range(count - i)
                )
            ]
        elif "jaxpr" in equation.params:
            results = on_a_tpu(equation.params["jaxpr"], given, passes)
        else:
            results = equation.primitive.bind(*given, **equation.params)
            results = (
                results if equation.primitive.multiple_results else [results]
            )
        known |= dict(zip(equation.outvars, results, strict=True))
    return [known[v] for v in program.jaxpr.outvars]


rng = np.random.default_rng(0)
a = (np.eye(64) + rng.standard_normal((64, 64)) / 32).astype(np.float32)
b = rng.standard_normal((64, 1)).astype(np.float32)
exact = np.linalg.solve(a.astype(np.float64), b.astype(np.float64))
inverse, x = np.linalg.inv(a), np.zeros_like(b)
program, passes = jax.make_jaxpr(refine)(a, inverse, b, x), []
for _ in range(8):
    [x] = on_a_tpu(program, (a, inverse, b, x), passes)
error = np.linalg.norm(np.asarray(x) - exact) / np.linalg.norm(exact)
assert error < 1e-6, (
    f"after 8 refinements the relative error of x is {error:.0e}, "
    "expected less than 1e-06"
)
assert sum(passes) == 8 * 7, (
    f"one refinement takes {sum(passes) / 8:g} passes, expected 7"
)
print(f"relative error {error:.0e}, with {sum(passes) // 8} passes each")

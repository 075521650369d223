"""Ask for digits where they count, and nowhere else.

`refine` improves `x`, a rough solution of `a @ x = b`, with a rough inverse
of `a`. It makes two products: what is still missing from `b`, and the
correction for it. On a TPU each takes one pass, and the answer stays wrong in
its third digit however often it is refined. Ask for `highest` in one of the
two, so that six digits come out. One product then takes six passes, the other
still one. The judge computes as a TPU does, on any machine.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Literal


def refine(a, inverse, b, x):
    """Return a better `x: float32[n, 1]`; `a` has the shape `(n, n)`."""
    missing = b - jnp.matmul(a, x)
    return x + jnp.matmul(inverse, missing)  # your code here and above


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
    for one in program.jaxpr.eqns:
        given = [
            v.val if isinstance(v, Literal) else known[v] for v in one.invars
        ]
        if one.primitive.name == "dot_general":
            asked = one.params["precision"]
            asked = asked[0] if isinstance(asked, tuple) else asked
            n = PASSES.get(getattr(asked, "name", ""), 1)
            passes.append(n)
            count = {1: 1, 3: 2, 6: 3}[n]
            left, right = (parts(jnp.asarray(m), count) for m in given)
            numbers = one.params["dimension_numbers"]
            made = [
                sum(
                    lax.dot_general(left[i], right[j], numbers)
                    for i in range(count)
                    for j in range(count - i)
                )
            ]
        elif "jaxpr" in one.params:
            made = on_a_tpu(one.params["jaxpr"], given, passes)
        else:
            made = one.primitive.bind(*given, **one.params)
            made = made if one.primitive.multiple_results else [made]
        known |= dict(zip(one.outvars, made, strict=True))
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
    f"after 8 rounds x is off by {error:.0e}, expected less than 1e-06"
)
assert sum(passes) == 8 * 7, (
    f"a round takes {sum(passes) / 8:g} passes, expected 7"
)
print(f"x is off by {error:.0e}, at {sum(passes) // 8} passes a round")

"""Write a linear layer with an adapter, and merge it.

`params` has `w`, float32[inputs, outputs], and the adapter's `a`,
float32[inputs, rank], and `b`, float32[rank, outputs]. `apply` returns
`x @ w` plus the adapter's part, which is scaled by `alpha / rank`. Don't
multiply `a` by `b` in it, because that makes a matrix as large as `w`.
`merge` returns a single matrix that does the same as both parts together.
"""

import jax
import jax.numpy as jnp
import numpy as np


def apply(params, x, alpha):
    """Return float32[rows, outputs] for float32[rows, inputs]."""
    return x @ params["w"]  # your code here


def merge(params, alpha):
    """Return the merged weights, float32[inputs, outputs]."""
    return params["w"]  # and here


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
w, a, b, x = (
    rng.normal(size=shape).astype(np.float32)
    for shape in [(48, 40), (48, 3), (3, 40), (5, 48)]
)
params = {"w": w, "a": a, "b": b}
expected = x @ w + (6.0 / 3) * (x @ a) @ b

with jax.default_matmul_precision("highest"):
    found = np.asarray(apply(params, jnp.asarray(x), 6.0))
    merged = np.asarray(merge(params, 6.0))
    program = jax.make_jaxpr(lambda p, x: apply(p, x, 6.0))(params, x)
message = f"found the shape {found.shape}, expected {expected.shape}"
assert found.shape == expected.shape, message
message = "the adapter has no effect on the output of apply"
assert not np.allclose(found, x @ w, atol=1e-3), message
error = abs(found - expected).max()
message = f"apply is wrong by {error:.3g}: look at alpha / rank"
assert error < 1e-3, message
shapes = [var.aval.shape for eqn in program.eqns for var in eqn.outvars]
message = "apply multiplies a by b: compute x @ a first"
assert (48, 40) not in shapes, message
assert merged.shape == w.shape, f"merged has the shape {merged.shape}"
error = abs(x @ merged - expected).max()
assert error < 1e-3, f"the merged weights are wrong by {error:.3g}"
print("one matrix does the work of three")

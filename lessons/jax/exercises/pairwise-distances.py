"""Compute all pairwise distances without a loop.

`a` has n points and `b` has m points, with two coordinates each. Return an
array of n rows and m columns, where row i, column j holds the distance
from point i of `a` to point j of `b`. Use broadcasting instead of a Python
loop: the judge counts the operations that JAX traces.
"""

import jax
import jax.numpy as jnp
import numpy as np


def distances(a, b):
    """Return float32[n, m] from a: float32[n, 2] and b: float32[m, 2]."""
    return jnp.zeros((len(a), len(b)))  # your code here


# Judged below: leave this part as it is.

a = np.array([[0, 0], [3, 4], [6, 8]], np.float32)
b = np.array([[0, 0], [3, 0]], np.float32)
expected = [[0.0, 3.0], [5.0, 4.0], [10.0, 8.54]]
found = np.asarray(distances(jnp.asarray(a), jnp.asarray(b)))
message = f"the shape is {found.shape}, expected (3, 2)"
assert found.shape == (3, 2), message
message = f"found {found.round(2).tolist()}, expected {expected}"
assert np.allclose(found, expected, atol=0.01), message
rng = np.random.default_rng(0)
a = rng.random((40, 2), "f4")
b = rng.random((50, 2), "f4")
count = len(jax.make_jaxpr(distances)(a, b).eqns)
message = f"{count} operations traced, expected fewer than 40: no loops"
assert count < 40, message
expected = np.hypot(*(a[:, None] - b[None]).T).T
error = np.abs(np.asarray(distances(a, b)) - expected).max()
message = f"40 and 50 points: error {error:.2f}, expected less than 0.01"
assert error < 0.01, message
print("all pairwise distances, in", count, "operations")

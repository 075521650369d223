"""Measure from every point to every other one.

`a` has n points and `b` has m, with two coordinates each. `distances` must return an n by m array:
row i, column j is the distance from point i of `a` to point j of `b`. No loops in Python: the judge
counts the operations that JAX records.
"""

import jax
import jax.numpy as jnp
import numpy as np


def distances(a, b):
    """Return `float32[n, m]` from `a: float32[n, 2]` and `b: float32[m, 2]`."""
    return jnp.zeros((len(a), len(b)))  # your code here


# Judged below: leave this part as it is.

a = np.array([[0, 0], [3, 4], [6, 8]], np.float32)
b = np.array([[0, 0], [3, 0]], np.float32)
expected = [[0.0, 3.0], [5.0, 4.0], [10.0, np.sqrt(73).item()]]
found = np.asarray(distances(jnp.asarray(a), jnp.asarray(b)))
assert found.shape == (3, 2), f"the shape is {found.shape}, expected (3, 2)"
same = np.allclose(found, expected, rtol=1e-3, atol=1e-3)
assert same, f"found {found.round(2).tolist()}, expected {np.round(expected, 2).tolist()}"
rng = np.random.default_rng(0)
many, more = rng.random((40, 2), np.float32), rng.random((50, 2), np.float32)
steps = len(jax.make_jaxpr(distances)(many, more).eqns)
assert steps < 40, f"{steps} operations were recorded: a loop in Python; expected under 40"
wanted = np.hypot(*(many[:, None] - more[None]).T).T
off = np.abs(np.asarray(distances(many, more)) - wanted).max()
assert off < 1e-2, f"for 40 and 50 points it is off by {off:.2f}, expected under 0.01"
print("every point to every other, in", steps, "operations")

"""Measure from every point to every other one.

`a` has n points and `b` has m, with two coordinates each. Return an array
of n rows and m columns: row i, column j holds the distance from point i
of `a` to point j of `b`. Use no loop of Python: the judge counts the
operations that JAX records.
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
right = [[0.0, 3.0], [5.0, 4.0], [10.0, 8.54]]
found = np.asarray(distances(jnp.asarray(a), jnp.asarray(b)))
message = f"the shape is {found.shape}, expected (3, 2)"
assert found.shape == (3, 2), message
message = f"found {found.round(2).tolist()}, expected {right}"
assert np.allclose(found, right, atol=0.01), message
rng = np.random.default_rng(0)
many, more = rng.random((40, 2), "f4"), rng.random((50, 2), "f4")
steps = len(jax.make_jaxpr(distances)(many, more).eqns)
message = f"{steps} operations were recorded, expected under 40: no loops"
assert steps < 40, message
right = np.hypot(*(many[:, None] - more[None]).T).T
off = np.abs(np.asarray(distances(many, more)) - right).max()
message = f"40 and 50 points: off by {off:.2f}, expected under 0.01"
assert off < 0.01, message
print("every point to every other, in", steps, "operations")

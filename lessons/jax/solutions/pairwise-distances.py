"""Give `a` and `b` a third axis each, so that broadcasting repeats each one
along the other. Which shapes broadcast to (n, m, 2)?

`a[:, None]` has the shape (n, 1, 2) and `b[None]` has (1, m, 2). Their
difference has the shape (n, m, 2).

Square the difference, sum over the last axis, and take the square root.

Learned: Two arrays with an extra axis each broadcast against one another,
so all pairs are computed by one vectorised operation.
"""

import jax
import jax.numpy as jnp
import numpy as np


def distances(a, b):
    """Return float32[n, m] from a: float32[n, 2] and b: float32[m, 2]."""
    gaps = a[:, None] - b[None]
    return jnp.sqrt((gaps**2).sum(-1))

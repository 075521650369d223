"""The derivative of the square root at 0 is infinite, and the derivative of
the square is 0. Infinity times 0 is NaN.

`jnp.where(squares > 0, jnp.sqrt(squares), 0.0)` is not enough: the gradient
of the branch that is not selected is computed as well, and then multiplied
by 0.

Keep 0 away from the root: `safe = jnp.where(squares > 0, squares, 1.0)`.
If you add a small number instead, the norms of tiny rows become wrong.

Take the root of `safe`, and then select with a second `jnp.where`.

Learned: `jnp.where` computes the gradient of both branches, so keep 0 away
from the square root before you select, and not only afterwards.
"""

import jax
import jax.numpy as jnp
import numpy as np


def lengths(rows):
    """Return the norm of each of `rows: float32[n, k]`."""
    squares = (rows**2).sum(1)
    safe = jnp.where(squares > 0, squares, 1.0)
    return jnp.where(squares > 0, jnp.sqrt(safe), 0.0)

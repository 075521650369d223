"""The slope of the square root at 0 is infinite, and that of the square
is 0: infinity times 0.

`jnp.where(squares > 0, jnp.sqrt(squares), 0.0)` is not enough: the slope
of the branch that is not taken is computed, and then multiplied by 0.

Keep 0 away from the root: `safe = jnp.where(squares > 0, squares, 1.0)`.
Adding a small number instead makes the lengths of tiny rows wrong.

Take the root of `safe`, and then choose with a second `jnp.where`.
"""

import jax
import jax.numpy as jnp
import numpy as np


def lengths(rows):
    """Return the length of each of `rows: float32[n, k]`."""
    squares = (rows**2).sum(1)
    safe = jnp.where(squares > 0, squares, 1.0)
    return jnp.where(squares > 0, jnp.sqrt(safe), 0.0)

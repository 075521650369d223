"""Clipping each number changes the direction. Which one number decides for
all arrays together?

The norm of all numbers, as if they were one long vector. Its square is the
sum of `jnp.sum(g**2)` over `jax.tree.leaves(grads)`.

Multiply every array by the same factor, `jnp.minimum(1.0, limit / norm)`.
For a norm of 0 the quotient is infinite, and the minimum is 1 all the same.

Learned: Clipping by the global norm shortens a gradient and keeps its
direction, and a minimum takes the place of an `if` under `jax.jit`.
"""

import jax
import jax.numpy as jnp
import numpy as np


def clip(grads, limit):
    """Return gradients whose global norm is at most `limit`."""
    squares = [jnp.sum(g**2) for g in jax.tree.leaves(grads)]
    norm = jnp.sqrt(sum(squares))
    factor = jnp.minimum(1.0, limit / norm)
    return jax.tree.map(lambda g: factor * g, grads)

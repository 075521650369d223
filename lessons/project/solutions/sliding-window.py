"""Write the rows for length 4 and window 2 by hand. In terms of the two
indices, what do the visible pairs have in common?

The distance `query - key`. It is at least 0, which is what the gap asks
for, and it may be at most 1 if the window is 2.

Both conditions have to hold. Combine them with `&`, which works on arrays,
where `and` does not: `(key <= query) & (query - key < window)`.

Learned: A mask is a condition on the distance between two positions, and
layers stacked on each other see further than each of them alone.
"""

import jax.numpy as jnp
import numpy as np


def visible(length, window):
    """Return which keys (columns) each query (row) may use."""
    query = jnp.arange(length)[:, None]
    key = jnp.arange(length)[None, :]
    return (key <= query) & (query - key < window)

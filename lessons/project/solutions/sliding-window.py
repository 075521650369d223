"""How far is a key behind its query? That is `query - key`, and it must not
be negative.

With a window of 1 the distance must be 0, with a window of 2 it may be 0
or 1.

Combine both conditions with `&`, which works on arrays; `and` does not.

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

"""One key gives one set of numbers. How many do you need, and what makes
several out of one?

`jax.random.split(key, n)` gives n keys. Go through them and the shapes
together.

There are `len(sizes) - 1` matrices. `zip` walks along the keys and the
pairs of sizes at once.
"""

from itertools import pairwise

import jax
import jax.numpy as jnp


def init(key, sizes):
    """Return a list of matrices: float32[sizes[i], sizes[i + 1]]."""
    keys = jax.random.split(key, len(sizes) - 1)
    pairs = zip(keys, pairwise(sizes), strict=True)
    return [jax.random.normal(one, shape) for one, shape in pairs]

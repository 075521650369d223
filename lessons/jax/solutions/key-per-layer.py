"""One key gives one set of numbers. How many sets do you need, and which
function makes several keys from one?

There are `len(sizes) - 1` matrices, so you need that many keys.
`jax.random.split(key, n)` returns n of them.

`zip` goes through the keys and the pairs of sizes together. Draw each
matrix with its own key, and don't use `key` again.

Learned: A random key is used once: split it into as many keys as you need,
and draw nothing with the one that you split.
"""

from itertools import pairwise

import jax
import jax.numpy as jnp


def init(key, sizes):
    """Return a list of matrices: float32[sizes[i], sizes[i + 1]]."""
    keys = jax.random.split(key, len(sizes) - 1)
    layers = zip(keys, pairwise(sizes), strict=True)
    return [jax.random.normal(layer_key, shape) for layer_key, shape in layers]

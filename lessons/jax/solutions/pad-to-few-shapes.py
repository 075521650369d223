"""JAX compiles as often as different lengths come out of `pad`.

One length for all is enough if it is at least 119. Three lengths waste
less work.

`np.pad(x, (0, missing))` adds `missing` zeros at the end. The weights are
1 for the numbers of the batch and 0 for the padding, so pad an array of
ones in the same way.

Learned: JAX compiles once per shape, so padding to a few lengths, with
weights of 0 for the padding, keeps the number of programs small.
"""

import jax
import numpy as np


def pad(x):
    """Return x: float32[n], padded, and its weights, both in NumPy."""
    length = next(size for size in (32, 64, 128) if size >= len(x))
    missing = length - len(x)
    weights = np.ones(len(x), np.float32)
    return np.pad(x, (0, missing)), np.pad(weights, (0, missing))

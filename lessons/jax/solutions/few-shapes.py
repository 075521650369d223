"""JAX compiles as often as different lengths come out of `fill_up`.

One length for all would do: at least 119. Three lengths waste less work.

`np.pad(x, (0, rest))` adds `rest` zeros at the end. The weights are 1 for
what was there and 0 for what was filled in: pad ones in the same way.
"""

import jax
import numpy as np


def fill_up(x):
    """Return x: float32[n], filled up, and its weights, both in NumPy."""
    length = next(size for size in (32, 64, 128) if size >= len(x))
    rest = (0, length - len(x))
    return np.pad(x, rest), np.pad(np.ones(len(x), np.float32), rest)

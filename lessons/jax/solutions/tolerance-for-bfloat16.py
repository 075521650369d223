"""One bfloat16 pass leaves two or three correct digits. How far off may an
element be?

An element close to zero is a sum of large terms that cancel, and it keeps
the rounding error of those terms. So do not compare each difference with
its own element.

Compare the largest difference with the largest expected element. One
hundredth of it is enough for one pass, and far less than a real error.

Learned: Compare the largest error with the largest element, because an
element close to zero has no correct digits of its own after a cancellation.
"""

import jax.numpy as jnp
import numpy as np


def good(found, expected):
    """Return whether `found: float32[n, n]` is `expected` but for rounding."""
    largest = np.abs(expected).max()
    return np.abs(found - expected).max() < 0.01 * largest

"""One pass leaves two or three digits right. How far may a number be off?

A number close to zero comes from large ones that cancel, and keeps their
rounding. So do not measure each difference against its own number.

Measure the largest difference against the largest number expected. One
hundredth is room enough for one pass, and far less than a mistake.
"""

import jax.numpy as jnp
import numpy as np


def good(found, expected):
    """Return whether `found: float32[n, n]` is `expected`, rounded."""
    largest = np.abs(expected).max()
    return np.abs(found - expected).max() < 0.01 * largest

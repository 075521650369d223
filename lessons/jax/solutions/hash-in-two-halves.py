"""A hash is upper * 2**32 + lower. In NumPy, `hashes >> np.uint64(32)` gives
the upper half. How do you take a remainder of that sum?

A remainder may be taken in between, so that the numbers stay small:
(upper % b) * (2**32 % b) + lower % b, and then % b once more.

With b below 2**16 the product is below 2**32, and so is the sum. `2**32 %
buckets` is a Python int while JAX traces. Convert it with `jnp.uint32`.

Learned: A 64-bit integer travels as two uint32, and remainders in between
keep every step below 2**32.
"""

import jax
import jax.numpy as jnp
import numpy as np


def split(hashes):
    """Return (upper, lower): uint32[n] each, from hashes: uint64[n]."""
    upper = (hashes >> np.uint64(32)).astype(np.uint32)
    return upper, hashes.astype(np.uint32)


def bucket(upper, lower, buckets):
    """Return uint32[n]: each hash modulo `buckets`, a Python int."""
    b = jnp.uint32(buckets)
    factor = jnp.uint32(2**32 % buckets)
    return ((upper % b) * factor + lower % b) % b

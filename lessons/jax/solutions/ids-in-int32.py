"""After the conversion, a corrupted id looks like any other. What do you
still have to compare it with?

Convert in NumPy, `ids.astype(np.int32)`, and test whether the ids are
still the same.

Compare the arrays and not their difference, which can overflow as well.
If `(small != ids).any()`, raise `OverflowError`.

Learned: A conversion to int32 overflows silently, so convert in NumPy and
compare with the original before the ids reach a device.
"""

import jax
import jax.numpy as jnp
import numpy as np


def to_device(ids):
    """Return int32[n] from a NumPy array of integers, or raise."""
    small = ids.astype(np.int32)
    if (small != ids).any():
        raise OverflowError("an id does not fit into 32 bits")
    return jnp.asarray(small)

"""Once narrowed, a wrong id looks like any other. What do you still have
to compare it with?

Narrow in NumPy, `ids.astype(np.int32)`, and see whether the ids are still
the same.

Compare arrays, not their difference, which can overflow as well:
`(small != ids).any()` tells. Then `raise OverflowError`.
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

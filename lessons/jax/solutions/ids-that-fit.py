"""Once narrowed, a wrong id looks like any other. What do you still have to compare it with?

Narrow in NumPy, `ids.astype(np.int32)`, and see whether the ids are still the same.

Careful with the largest: compare arrays, not differences. `(small != ids).any()` tells.
"""

import jax
import jax.numpy as jnp
import numpy as np


def to_device(ids):
    """Return `int32[n]` from a NumPy array of integers; raises OverflowError where one is lost."""
    small = ids.astype(np.int32)
    if (small != ids).any():
        raise OverflowError("an id does not fit into 32 bits")
    return jnp.asarray(small)

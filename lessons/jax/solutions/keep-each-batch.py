"""A JAX array on the CPU can share the memory of the NumPy array that it was
made of. And even where JAX copies, the copy may be complete only later.

So the copy must be complete before the loader goes on. NumPy copies at once.

Pass a copy that nobody else writes into: `jax.device_put(buffer.copy())`.
`jnp.array(buffer).block_until_ready()` is right as well.

Learned: A NumPy buffer that is filled again has to be copied before it is
passed to JAX, because JAX may share its memory or still be reading it.
"""

import jax
import jax.numpy as jnp
import numpy as np


def to_device(buffer):
    """Return a JAX array with the values that `buffer` has now."""
    return jax.device_put(buffer.copy())

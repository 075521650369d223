"""Which of the two modules belongs to `x`? Every array knows it.

`x.__array_namespace__()` returns `numpy` for a NumPy array and `jax.numpy`
for a JAX array, tracers included.

Call the result `xp`, which is the usual name, and write `xp.exp`, `xp.max`
and `xp.sum` where the function has `np`.

Learned: `__array_namespace__` gives a function the library of its argument, so
one text serves the host in NumPy and the device in JAX.
"""

import jax
import jax.numpy as jnp
import numpy as np


def softmax(x):
    """Return the softmax of `x` along its last axis."""
    xp = x.__array_namespace__()
    weights = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return weights / xp.sum(weights, axis=-1, keepdims=True)

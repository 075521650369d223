"""A function from `np` may fetch the array, and `float` always does. Both
wait for the device.

Take every function from `jnp` instead, also those that would happen to work:
`jnp.mean`, `jnp.max`, `jnp.abs`, `jnp.concatenate` and `jnp.sin`.

`largest` need not be a Python number. Without `float` it is a JAX array with
the shape `()`, and dividing by it works as before.

Learned: With `jnp` in place of `np`, and without `float`, a computation
stays on the device, and `jax.jit` compiles it.
"""

import jax
import jax.numpy as jnp
import numpy as np


def preprocess(x):
    """Return float32[n, 2 * w] from x: float32[n, w]."""
    mean = jnp.mean(x, axis=0)
    largest = jnp.max(jnp.abs(x - mean))
    scaled = (x - mean) / largest
    return jnp.concatenate([scaled, jnp.sin(scaled)], axis=1)

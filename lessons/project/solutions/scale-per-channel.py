"""The largest number of a channel may be negative. What do you take the
maximum of, and along which axes?

`jnp.max(jnp.abs(weight), axis=axes, keepdims=True)` keeps axes of size 1,
so that the scale broadcasts against the weight.

`astype(jnp.int8)` drops the digits after the point, so round first. Where
the largest number is 0, use any other scale, with `jnp.where`.

Learned: The axes that a matmul adds up share a scale, because then it can
be applied to the sums.
"""

import jax.numpy as jnp
import numpy as np


def quantise(weight, axes):
    """Return int8 numbers, and the scale of each channel."""
    largest = jnp.max(jnp.abs(weight), axis=axes, keepdims=True)
    scale = jnp.where(largest > 0, largest, 1.0) / 127
    return jnp.round(weight / scale).astype(jnp.int8), scale

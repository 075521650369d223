"""The mean runs over the numbers of one vector. Which `axis` is that, and
which option keeps it for the division?

Convert with `x.astype(jnp.float32)` before squaring. The result goes back
with `.astype(x.dtype)` at the very end, after the scale.

`jax.lax.rsqrt(mean_square + 1e-6)` is one divided by the square root.

Learned: RMSNorm brings each vector to one size, and it sums and divides in
float32 even where the model computes in bfloat16.
"""

import jax
import jax.numpy as jnp
import numpy as np


def rms_norm(x, scale):
    """Return `x` with a mean square of 1 in each vector, times `scale`."""
    x32 = x.astype(jnp.float32)
    mean_square = jnp.mean(x32**2, axis=-1, keepdims=True)
    normed = x32 * jax.lax.rsqrt(mean_square + 1e-6)
    return (normed * scale).astype(x.dtype)

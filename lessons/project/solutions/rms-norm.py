"""The mean runs over the numbers of one vector. Which `axis` is that, and
which option keeps it for the division?

The dtype decides how many digits are left. Where must it be float32, and
at which point may the result go back?

Begin with `x32 = x.astype(jnp.float32)`, use it everywhere, and end with
`.astype(x.dtype)`, after the scale.

The mean square is `jnp.mean(x32**2, axis=-1, keepdims=True)`, and
`jax.lax.rsqrt(mean_square + 1e-6)` is one divided by its root.

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

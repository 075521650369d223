"""Look at the lower 16 bits of the float32. They say how far the number is
from the bfloat16 below it, in units of 1/65536 of the gap.

Cutting these bits off rounds towards zero. If you first add a random number
from 0 to 65535 to the bits, the addition carries into the upper half with
the right probability. This works for negative numbers as well, because the
sign is a bit of its own.

`bits = jax.lax.bitcast_convert_type(x, jnp.uint32)`, then
`noise = jax.random.bits(key, x.shape, jnp.uint16)`. Clear the lower half of
the sum with `& jnp.uint32(0xFFFF0000)`, and go back with a second bitcast.

Learned: Adding random bits below the last bit that is kept, before cutting
off, rounds without bias, so a bfloat16 weight follows even small updates.
"""

import jax
import jax.numpy as jnp
import numpy as np


def round_stochastically(key, x):
    """Return bfloat16[...] from `x: float32[...]`, rounded up or down."""
    bits = jax.lax.bitcast_convert_type(x, jnp.uint32)
    noise = jax.random.bits(key, x.shape, jnp.uint16).astype(jnp.uint32)
    kept = (bits + noise) & jnp.uint32(0xFFFF0000)
    rounded = jax.lax.bitcast_convert_type(kept, jnp.float32)
    return rounded.astype(jnp.bfloat16)

"""`if is_finite` fails inside a jitted function. What chooses between two
arrays there?

`jnp.where(is_finite, a, b)` does. Count the good steps first: one more
where the gradients are finite, and 0 where they are not.

There are three cases for the scale: half, double, or unchanged.
Two calls of `jnp.where` are enough, one after the other.

With `is_time = good_steps == GROWTH_STEPS`, the second one is
`jnp.where(is_time, scale * 2, scale)`. The count becomes 0 there too.

Learned: float16 needs a scale that follows the gradients, and bfloat16
needs none, because its exponent is as wide as that of float32.
"""

import jax
import jax.numpy as jnp

GROWTH_STEPS = 4


def adjust(scale, good_steps, is_finite):
    """Return the scale of the next step, and the good steps until then."""
    good_steps = jnp.where(is_finite, good_steps + 1, 0)
    is_time = good_steps == GROWTH_STEPS
    scale = jnp.where(is_finite, scale, scale / 2)
    scale = jnp.where(is_time, scale * 2, scale)
    return scale, jnp.where(is_time, 0, good_steps)

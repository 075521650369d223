"""The fall begins at `warmup`, not at 0. What part of it is done at a step?

The part is (step - warmup) / (steps - warmup), and it must not grow beyond
1: `jnp.clip(..., 0, 1)`.

`0.5 * (1 + jnp.cos(jnp.pi * part))` is 1 at the beginning of the fall and
0 at its end. While the rate rises, it is `peak * step / warmup`.

Under `jax.jit`, `if` can't see a value. Compute both, and choose with
`jnp.where(step < warmup, rising, falling)`.

Learned: A schedule is a function of the step count, so it becomes a part of
the compiled training step.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax


def rate(step, peak, warmup, steps):
    """Return the learning rate of a step."""
    rising = peak * step / warmup
    part = jnp.clip((step - warmup) / (steps - warmup), 0, 1)
    falling = peak * 0.5 * (1 + jnp.cos(jnp.pi * part))
    return jnp.where(step < warmup, rising, falling)

"""`def` makes a new function in each iteration, and `jax.jit` compiles every
new function.

Call `jax.jit(step)` once, before the loop, and call the result inside.

`read(loss)` waits until the step has finished. It belongs inside the `if`.

Learned: Call `jax.jit` once, outside the loop, and read a result only where
you need it: every read waits for the device.
"""

import jax
import jax.numpy as jnp
import numpy as np


def train(step, params, batches, read):
    """Return the parameters after all batches, and two losses."""
    compiled = jax.jit(step)
    losses = []
    for number, batch in enumerate(batches, 1):
        params, loss = compiled(params, batch)
        if number % 10 == 0:
            losses.append(read(loss))
    return params, losses

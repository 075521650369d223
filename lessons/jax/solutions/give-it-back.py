"""Two things hold memory: the old weights during a step, and the list afterwards.

`jax.jit(step, donate_argnums=0)` lets the new weights take the place of the old ones. As a
decorator: `@functools.partial(jax.jit, donate_argnums=0)`.

In `train`, unpack what `step` returns, and append `float(loss)`: a number of Python's, which holds
no array.
"""

import warnings
from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.jit, donate_argnums=0)
def step(weights, x):
    """Return the next weights: float32[n], and the loss."""
    loss, slope = jax.value_and_grad(lambda w: jnp.mean((x * w - 1.0) ** 2))(weights)
    return weights - 0.25 * len(weights) * slope, loss


def train(weights, x, steps):
    """Return the weights after some steps, and the loss of each step."""
    history = []
    for _ in range(steps):
        weights, loss = step(weights, x)
        history.append(float(loss))
    return weights, history

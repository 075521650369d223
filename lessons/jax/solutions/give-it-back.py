"""Two things hold memory: the old weights during a step, and the list
afterwards.

`jax.jit(step, donate_argnums=0)` lets the new weights take the place of
the old ones. As a decorator in any JAX:
`@functools.partial(jax.jit, donate_argnums=0)`. JAX 0.10 and newer take
`@jax.jit(donate_argnums=0)` as well.

In `train`, unpack what `step` returns, and append `float(loss)`: a number
of Python's, which holds no array.
"""

import functools
import warnings

import jax
import jax.numpy as jnp


@functools.partial(jax.jit, donate_argnums=0)
def step(weights, x):
    """Return the next weights: float32[n], and the loss."""

    def measure(weights):
        return jnp.mean((x * weights - 1.0) ** 2)

    loss, slope = jax.value_and_grad(measure)(weights)
    return weights - 0.25 * len(weights) * slope, loss


def train(weights, x, steps):
    """Return the weights after some steps, and the loss of each step."""
    history = []
    for _ in range(steps):
        weights, loss = step(weights, x)
        history.append(float(loss))
    return weights, history

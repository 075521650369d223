"""Two things hold memory: the old parameters during a step, and the list
afterwards.

`jax.jit(step, donate_argnums=0)` lets the new parameters reuse the memory
of the old ones. As a decorator in any JAX:
`@functools.partial(jax.jit, donate_argnums=0)`. JAX 0.8.1 and newer take
`@jax.jit(donate_argnums=0)` as well.

In `train`, unpack what `step` returns, and append `float(loss)`. A Python
float keeps no array alive.

Learned: Donating an argument lets its memory hold the result, and a Python
float in a list keeps no array alive on the device.
"""

import functools
import warnings

import jax
import jax.numpy as jnp


@functools.partial(jax.jit, donate_argnums=0)
def step(params, x):
    """Return the next parameters: float32[n], and the loss."""

    def loss_of(params):
        return jnp.mean((x * params - 1.0) ** 2)

    loss, gradient = jax.value_and_grad(loss_of)(params)
    return params - 0.25 * len(params) * gradient, loss


def train(params, x, steps):
    """Return the parameters after some steps, and the loss of each step."""
    history = []
    for _ in range(steps):
        params, loss = step(params, x)
        history.append(float(loss))
    return params, history

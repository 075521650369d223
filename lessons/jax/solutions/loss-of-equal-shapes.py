"""Shapes are known while JAX traces, so an ordinary `if` may look at them.

`if predictions.shape != targets.shape: raise ValueError(...)` comes first in
`mean_squared_error`.

`predictions[:, 0]` has the shape (n,), and so has `jnp.squeeze(predictions,
axis=1)`, which also fails if the axis is not of size 1.

Learned: A shape is a plain Python tuple even under `jit`, so a test of shapes
costs nothing when the program runs.
"""

import jax
import jax.numpy as jnp
import numpy as np


def mean_squared_error(predictions, targets):
    """Return float32[], or raise ValueError for unequal shapes."""
    if predictions.shape != targets.shape:
        message = f"predictions {predictions.shape}, targets {targets.shape}"
        raise ValueError(message)
    return jnp.mean((predictions - targets) ** 2)


def loss(weights, inputs, targets):
    """Return the loss of weights: [k, 1], inputs: [n, k], targets: [n]."""
    predictions = inputs @ weights
    return mean_squared_error(predictions[:, 0], targets)

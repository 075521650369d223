"""The mean over all rows is the mean of the means of equal parts. What has
to be alive while one part is computed?

Give the arrays a new first axis of length `parts`:
`x.reshape(parts, -1, x.shape[1])`. Then `jax.lax.scan` can step along it.

The carry is the sum of the gradients so far. It starts as
`jax.tree.map(jnp.zeros_like, params)`, and
`jax.tree.map(jnp.add, total, grads)` adds a part.

Divide by `parts` at the end, because each part gave a mean of its own rows.

Learned: Gradient accumulation gives the gradient of the whole batch, with
the residuals of only one part in memory at a time.
"""

import jax
import jax.numpy as jnp


def loss_fn(params, x, y):
    """Return the mean loss of the rows `x: float32[rows, 64]`."""
    for w in params["layers"]:
        x = jnp.tanh(x @ w)
    return jnp.mean((x @ params["out"] - y) ** 2)


def whole(params, x, y):
    """Return the gradient of the loss of all rows."""
    return jax.grad(loss_fn)(params, x, y)


def accumulated(params, x, y, parts):
    """Return the same gradient, with the rows of one part at a time."""

    def add_part(total, part):
        grads = jax.grad(loss_fn)(params, *part)
        return jax.tree.map(jnp.add, total, grads), None

    x_parts = x.reshape(parts, -1, x.shape[1])
    y_parts = y.reshape(parts, -1)
    zeros = jax.tree.map(jnp.zeros_like, params)
    total, _ = jax.lax.scan(add_part, zeros, (x_parts, y_parts))
    return jax.tree.map(lambda leaf: leaf / parts, total)

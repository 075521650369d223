"""Start with a function for one example. `jax.grad(loss)` is one: it
takes `params`, one `x` and one `y`, and returns a dictionary.

Compute the norm of that dictionary in a function for one example, too.
`jax.tree.leaves` lists its arrays; add up their squares, and take the
root at the end.

Then map over the examples, and leave the parameters whole:
`jax.vmap(norm, in_axes=(None, 0, 0))`.

Learned: `jax.vmap` of a gradient function gives the gradient of each
example, where `jax.grad` of the mean loss gives only their average.
"""

import jax
import jax.numpy as jnp
import numpy as np

traced = []


def loss(params, x, y):
    """Return the squared error of one example, x: float32[4] and y: []."""
    traced.append(x.shape)
    hidden = jnp.tanh(x @ params["weights"] + params["bias"])
    return (hidden.sum() - y) ** 2


def gradient_norms(params, inputs, labels):
    """Return float32[n] for inputs: float32[n, 4], labels: float32[n]."""

    def norm(params, x, y):
        gradient = jax.grad(loss)(params, x, y)
        squares = [jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradient)]
        return jnp.sqrt(sum(squares))

    return jax.vmap(norm, in_axes=(None, 0, 0))(params, inputs, labels)

"""Two shardings are needed: one cuts along `data`, one cuts nothing.

`NamedSharding(mesh, PartitionSpec())` copies, and
`NamedSharding(mesh, PartitionSpec("data"))` cuts. `jax.device_put` takes
a whole tree and one sharding for all of it.

`jax.value_and_grad(loss)` returns a function that gives the loss and the
gradient, which has the form of `params`. So write the loss as a function
of `params` first.

`jax.tree.map(lambda p, g: p - rate * g, params, gradient)` makes the
move.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

mesh = Mesh(jax.devices(), ("data",))


def place(params, x, y):
    """Return `params` copied to all devices, `x` and `y` cut by rows."""
    copied = NamedSharding(mesh, PartitionSpec())
    cut = NamedSharding(mesh, PartitionSpec("data"))
    x, y = jax.device_put((x, y), cut)
    return jax.device_put(params, copied), x, y


@jax.jit
def step(params, x, y, rate):
    """Return the parameters after one step, and the loss before it."""

    def loss_of(params):
        return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)

    loss, slope = jax.value_and_grad(loss_of)(params)
    moved = jax.tree.map(lambda p, g: p - rate * g, params, slope)
    return moved, loss

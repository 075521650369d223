"""Two shardings are needed: one that cuts the first axis along `data`, one that cuts nothing.

`NamedSharding(mesh, PartitionSpec())` copies, `NamedSharding(mesh, PartitionSpec("data"))` cuts.
`jax.device_put` takes a whole tree and one sharding for all of it.

`jax.value_and_grad(loss)` returns a function that gives the loss and the gradient, which has the
form of `params`. `jax.tree.map(lambda p, g: p - rate * g, params, gradient)` makes the move.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

mesh = Mesh(jax.devices(), ("data",))


def place(params, x, y):
    """Return `params` copied to all devices, and `x` and `y` cut by rows."""
    copied = jax.device_put(params, NamedSharding(mesh, PartitionSpec()))
    x, y = jax.device_put((x, y), NamedSharding(mesh, PartitionSpec("data")))
    return copied, x, y


@jax.jit
def step(params, x, y, rate):
    """Return the parameters after one step, and the loss before it."""

    def loss_of(params):
        return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)

    loss, gradient = jax.value_and_grad(loss_of)(params)
    return jax.tree.map(lambda p, g: p - rate * g, params, gradient), loss

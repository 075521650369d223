"""Decide for each of the four arrays which of its axes is sharded, if any.
`jax.device_put` takes a tree of arrays and a tree of specs of the same
form, so that one call can place all parameters.

`jax.P("data")` shards rows, `jax.P(None, "data")` shards columns, and
`jax.P()` replicates.

In `step`, write the loss as a function of `params` first.
`jax.value_and_grad(loss_fn)` then returns the loss and the gradients,
which have the form of `params`.

If JAX says that the matmul produces an illegally sharded result, the
weights are still sharded there. `jax.reshard(params["w"], jax.P())`
gathers them. Do this inside the loss function, so that the gradient comes
back sharded.

`jax.tree.map(lambda p, g: p - rate * g, params, grads)` makes the move.

Learned: One step of FSDP gathers the weights just before the matmul, inside
the loss function, so that the gradients come back sharded like the
parameters.
"""

import jax
import jax.numpy as jnp
import numpy as np

jax.set_mesh(jax.make_mesh((jax.device_count(),), ("data",)))


def place(params, x, y):
    """Return `params`, `x` and `y` on the devices, sharded for FSDP."""
    specs = {"w": jax.P(None, "data"), "b": jax.P()}
    params = jax.device_put(params, specs)
    x = jax.device_put(x, jax.P("data"))
    y = jax.device_put(y, jax.P("data"))
    return params, x, y


@jax.jit
def step(params, x, y, rate):
    """Return the parameters after one step, and the loss before it."""

    def loss_fn(params):
        w = jax.reshard(params["w"], jax.P())
        return jnp.mean((x @ w + params["b"] - y) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    params = jax.tree.map(lambda p, g: p - rate * g, params, grads)
    return params, loss

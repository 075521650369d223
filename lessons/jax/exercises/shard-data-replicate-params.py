"""Shard a batch and replicate the parameters.

`gradient` below runs on the devices that hold its arguments, and so far
they are all on one device. Write `place`. It shards each array of the
batch by rows over all devices of the mesh, and replicates each parameter on
every device. The gradient must stay the same. Parameters and batch are
dictionaries of arrays, under any names.
"""

import jax
import jax.numpy as jnp
import numpy as np

n = jax.device_count()
jax.set_mesh(jax.make_mesh((n,), ("d",)))


def place(params, batch):
    """Return both dictionaries with their arrays on all devices."""
    return params, batch  # your code here


# Judged below: leave this part as it is.


@jax.jit
@jax.grad
def gradient(params, batch):
    prediction = batch["x"] @ params["w"] + params["b"]
    return jnp.mean((prediction - batch["y"]) ** 2)


rows = 2 * n
params = {"w": np.full(3, 0.5, np.float32), "b": np.float32(1.0)}
x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3) / rows
batch = {"x": x, "y": x.sum(1)}
replicated, sharded = place(params, batch)

for name, array in [*replicated.items(), *sharded.items()]:
    kind = type(array).__name__
    message = f"`{name}` is a {kind}, expected a jax.Array"
    assert isinstance(array, jax.Array), message
    found = len(array.sharding.device_set)
    assert found == n, f"`{name}` is on {found} devices, expected {n}"
for name, array in sharded.items():
    found = [len(shard.data) for shard in array.addressable_shards]
    message = f"rows of `{name}` by device: {found}, expected 2 on each"
    assert found == [2] * n, message
for name, array in replicated.items():
    spec = getattr(array.sharding, "spec", array.sharding)
    message = f"`{name}` is sharded as {spec}, expected it replicated"
    assert array.is_fully_replicated, message

expected = gradient(params, batch)
found = gradient(replicated, sharded)
for name in params:
    same = np.allclose(expected[name], found[name], rtol=1e-3)
    message = f"the gradient of `{name}` is {found[name]}"
    assert same, f"{message}, expected {expected[name]}"
print("sharded batch, replicated parameters, the same gradient")

"""Normalise a batch that is cut over all devices.

Each device has some rows of the batch. `normalise` takes the mean and the
variance of each column, but of its own rows alone, so each device uses
other numbers. Let all use the mean and the variance of the whole batch,
and send no row to another device: a few numbers for each column are
enough. All devices have equally many rows; the direction of the mesh is
called `d`.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


def normalise(rows):
    """Return `rows: float32[r, w]`, normalised.

    In each column the whole batch then has mean 0 and variance 1.
    """
    mean = rows.mean(0)  # your code here
    variance = ((rows - mean) ** 2).mean(0)  # your code here
    return (rows - mean) * jax.lax.rsqrt(variance)


# Judged below: leave this part as it is.

n, mesh = jax.device_count(), Mesh(np.array(jax.devices()), ("d",))
rng = np.random.default_rng(0)
batch = rng.standard_normal((4 * n, 3)) * [1, 5, 20] + [0, 50, -3]
batch += np.arange(4 * n)[:, None]  # later devices have larger numbers
batch = batch.astype(np.float32)
cut = {"mesh": mesh, "in_specs": P("d"), "out_specs": P("d")}
run = jax.shard_map(normalise, **cut)
found = np.asarray(jax.jit(run)(jnp.asarray(batch)))
right = (batch - batch.mean(0)) / batch.std(0)
told = f"found shape {found.shape}, expected {right.shape}"
assert found.shape == right.shape, told
off = np.abs(found - right).max()
told = f"off by up to {off:.2g} from the whole batch normalised"
assert off < 1e-3, f"{told}, expected below 1e-3"

recorded = str(jax.make_jaxpr(run)(jnp.asarray(batch)))
others = "all_gather", "ppermute", "all_to_all"
sent = ", ".join(one for one in others if one in recorded)
assert not sent, f"rows travel by {sent}, expected sums or means alone"
mean, deviation = abs(found.mean(0)).max(), found.std(0)
print("mean", mean.round(3), "deviation", deviation.round(3))

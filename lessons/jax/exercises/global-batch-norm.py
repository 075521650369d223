"""Normalise with the statistics of the global batch.

The batch is sharded over all devices along `d`. `normalise` takes the mean
and the variance of each column, but only over the rows of its own shard, so
every device normalises with other numbers. Use the mean and the variance of
the global batch instead. No row may travel to another device: a few numbers
for each column are enough. All shards have the same number of rows.
"""

import jax
import numpy as np

n = jax.device_count()
mesh = jax.make_mesh((n,), ("d",))
jax.set_mesh(mesh)


def normalise(shard):
    """Return `shard: float32[r, w]`, normalised.

    It runs on every device, within `jax.shard_map` over the axis `d`. In
    each column the global batch then has the mean 0 and the variance 1.
    """
    mean = shard.mean(0)  # your code here
    variance = ((shard - mean) ** 2).mean(0)  # your code here
    return (shard - mean) * jax.lax.rsqrt(variance)


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
batch = rng.standard_normal((4 * n, 3)) * [1, 5, 20] + [0, 50, -3]
batch += np.arange(4 * n)[:, None]  # later devices have larger numbers
batch = batch.astype(np.float32)
sharded = jax.device_put(batch, jax.P("d", None))
mapped = jax.shard_map(normalise, out_specs=jax.P("d", None))
found = jax.device_get(jax.jit(mapped)(sharded))
expected = (batch - batch.mean(0)) / batch.std(0)
message = f"found the shape {found.shape}, expected {expected.shape}"
assert found.shape == expected.shape, message

for device, rows in enumerate(np.split(found, n)):
    alone = n > 1 and abs(rows.mean(0)).max() < 1e-3
    message = (
        f"on device {device} every column of the shard has the mean 0:"
        " each device used the mean of its own rows, expected the global one"
    )
    assert not alone, message
off = np.abs(found - expected).max()
message = f"off by up to {off:.2g} from the global batch normalised"
assert off < 1e-3, f"{message}, expected below 1e-3: is the variance global?"

traced = str(jax.make_jaxpr(mapped)(sharded))
others = ("all_gather", "ppermute", "all_to_all")
used = ", ".join(name for name in others if name in traced)
message = f"rows travel by {used}, expected only sums or means over devices"
assert not used, message
mean = abs(found.mean(0)).max()
print("mean", mean.round(3), "standard deviation", found.std(0).round(3))

"""Spread a batch that does not divide.

The last batch of the data has 13 rows, and `jax.device_put` refuses to
cut 13 rows over 8 devices. Write `place` for batches of any length: it
returns the rows, filled up and cut along `d`, and the weights that `loss`
below needs, one for each row, cut the same way. The loss must stay that
of the rows that were there. Fill up no further than to the next multiple
of the number of devices.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("d",))
cut = NamedSharding(mesh, P("d"))


def place(rows):
    """Return `rows: float32[n, w]` and their weights, both cut."""
    return jnp.asarray(rows), jnp.ones(len(rows))  # your code here


# Judged below: leave this part as it is.


@jax.jit
def loss(rows, weights):
    return (weights * (rows**2).sum(1)).sum() / weights.sum()


count, rng = jax.device_count(), np.random.default_rng(0)
for length in (13, 16, 1):
    rows = rng.standard_normal((length, 4)).astype(np.float32)
    placed, each = place(rows.copy()), -(-length // count)
    for name, one in zip(("rows", "weights"), placed, strict=True):
        used = len(one.sharding.device_set)
        told = f"{length} {name}: found them on {used} devices"
        assert used == count, f"{told}, expected {count}"
        held = one.addressable_shards[0].data.shape[0]
        told = f"{length} {name}: found {held} on a device"
        assert held == each, f"{told}, expected {each}"
    found, right = float(loss(*placed)), float((rows**2).sum(1).mean())
    told = f"{length} rows: the loss is {found:.5f}, expected {right:.5f}"
    assert abs(found - right) < 1e-4 * right, told
print("13, 16 and 1 rows on", count, "devices")

"""Add up over all devices, with nothing but a message to the neighbour.

`jax.lax.ppermute` sends what each device has to the next one; the last
sends to the first. Write `total` so that each device ends with the sum of
what all had, as `psum` would give it, without `psum`, `all_gather` or any
other collective. It must work for any number of devices.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

n = jax.device_count()
around = [(one, (one + 1) % n) for one in range(n)]


def total(mine):
    """Return the sum of all devices' `mine: float32[w]`, on each device.

    The direction of the mesh is called `d`.
    """
    return mine + jax.lax.ppermute(mine, "d", around)  # your code here


# Judged below: leave this part as it is.

mesh = Mesh(np.array(jax.devices()), ("d",))
cut = {"mesh": mesh, "in_specs": P("d"), "out_specs": P("d")}
rng = np.random.default_rng(0)
rows = rng.integers(0, 99, (n, 5)).astype(np.float32)
run = jax.shard_map(lambda row: total(row[0])[None], **cut)
found, right = np.asarray(jax.jit(run)(jnp.asarray(rows))), rows.sum(0)
for place, row in enumerate(found):
    told = f"device {place} has {row.tolist()}, expected {right.tolist()}"
    assert np.array_equal(row, right), told

recorded = str(jax.make_jaxpr(run)(jnp.asarray(rows)))
others = "psum", "all_gather", "all_to_all", "reduce_scatter"
used = ", ".join(one for one in others if one in recorded)
assert not used, f"the program has {used}, expected ppermute alone"
print("the same sum on", n, "devices:", right.tolist())

"""After one ppermute, every device has two of the rows: its own and that of
the device before it. How many more steps until it has seen all of them?

Keep two variables: what travels round the ring, and the sum so far. Pass
on what you received, not the sum, or rows are counted twice.

Repeat `n - 1` times: `travelling = jax.lax.ppermute(travelling, "d", RING)`
and add it to the total. A Python loop is fine, because it is traced once.

Learned: With n devices, n - 1 steps round the ring bring each value to
every device, and adding on arrival makes that an all-reduce.
"""

import jax
import numpy as np

n = jax.device_count()
mesh = jax.make_mesh((n,), ("d",))
jax.set_mesh(mesh)
RING = [(device, (device + 1) % n) for device in range(n)]


def all_reduce(shard):
    """Return the sum of `shard: float32[w]` over all devices.

    It runs on every device, within `jax.shard_map` over the axis `d`.
    """
    total = shard
    travelling = shard
    for _ in range(n - 1):
        travelling = jax.lax.ppermute(travelling, "d", RING)
        total = total + travelling
    return total

"""Build an all-reduce from a ring of ppermute.

`jax.lax.ppermute` with the pairs in `RING` sends what each device has to
the next device; the last device sends to the first. Write `all_reduce` so
that every device ends with the sum over all devices, as `jax.lax.psum`
would return it, with `ppermute` as the only collective. It must work for
any number of devices.
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
    received = jax.lax.ppermute(shard, "d", RING)
    return total + received  # your code here


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
rows = rng.integers(0, 99, (n, 5)).astype(np.float32)
sharded = jax.device_put(rows, jax.P("d", None))


def one_row(block):
    return all_reduce(block[0])[None]


each_row = jax.shard_map(one_row, out_specs=jax.P("d", None))
result = jax.device_get(jax.jit(each_row)(sharded))
expected = rows.sum(0)
for device, row in enumerate(result):
    message = (
        f"device {device} has {row.tolist()}, expected {expected.tolist()}"
    )
    for count in range(1, n):
        before = [(device - step) % n for step in range(count)]
        if np.array_equal(row, rows[before].sum(0)):
            message += f": that is the sum of {count} of the {n} rows"
    if row.sum() > expected.sum():
        message += ": some rows are counted more than once"
    assert np.array_equal(row, expected), message

traced = str(jax.make_jaxpr(each_row)(sharded))
others = ("psum", "all_gather", "all_to_all", "reduce_scatter")
used = ", ".join(name for name in others if name in traced)
assert not used, f"the program uses {used}, expected ppermute alone"
print("the same sum on", n, "devices:", expected.tolist())

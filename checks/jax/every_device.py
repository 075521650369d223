"""Every device computes and communicates."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _collectives
from tpustarter.checks.jax._shares import differences
from tpustarter.checks.jax._tally import tally

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.1
LESSON = "jax/every-device"
SOURCE = "https://docs.jax.dev/en/latest/notebooks/shard_map.html"
AFTER = ["jax.devices_visible"]

WIDTH = 128


def own_shard(x, y):
    """Return `(x + index) @ y` as `int32[1, w, w]` for `x: float32[1, w, w]`, `y: float32[w, w]`.

    Whole numbers below 256 are exact in bfloat16, and sums of them below 2**24 in float32: at any
    precision there is one right answer, for up to 240 devices.
    """
    index = jax.lax.axis_index("d").astype(x.dtype)
    return jnp.matmul(x + index, y).astype(jnp.int32)


def total(shard):
    """Return the sum of all devices' `shard: int32[1, w, w]`, on each of them."""
    return jax.lax.psum(shard, "d")


def from_left(shard, count):
    """Return the `shard: int32[1, w, w]` of the previous device in the ring."""
    return jax.lax.ppermute(shard, "d", [(index, (index + 1) % count) for index in range(count)])


def programs(devices):
    """Yield one program sharded over all devices: `x: float32[d, w, w]`, `y: float32[w, w]`."""
    mesh = Mesh(np.array(devices), ("d",))

    def exchange(x, y):
        shard = own_shard(x, y)
        return shard, total(shard), from_left(shard, len(devices))

    function = jax.shard_map(exchange, mesh=mesh, in_specs=(P("d"), P()), out_specs=P("d"))
    shape = (len(devices), WIDTH, WIDTH)
    x = jax.ShapeDtypeStruct(shape, np.float32, sharding=NamedSharding(mesh, P("d")))
    y = jax.ShapeDtypeStruct(shape[1:], np.float32, sharding=NamedSharding(mesh, P()))
    yield "exchange", function, (x, y)


def run():
    """Compare each shard with NumPy's integers, then what the devices exchanged."""
    devices = jax.local_devices()
    draw = np.random.default_rng(0)
    x = draw.integers(0, 16, (len(devices), WIDTH, WIDTH)).astype(np.float32)
    y = draw.integers(-8, 9, (WIDTH, WIDTH)).astype(np.float32)
    for _, function, arguments in programs(devices):
        shards, totals, lefts = jax.jit(function)(*_collectives.placed((x, y), arguments))

        shifted = x + np.arange(len(devices), dtype=np.float32)[:, None, None]
        expected = (shifted.reshape(-1, WIDTH) @ y).reshape(x.shape).astype(np.int64)
        lost = differences(shards, expected, expected, devices)
        yield from tally("JAX-EVERY-SHARE", "devices that computed their shard", lost)

        values = np.asarray(shards, np.int64)
        sums = np.broadcast_to(values.sum(axis=0), values.shape)
        lost = differences(totals, sums, values, devices)
        yield from tally("JAX-EVERY-TOTAL", "devices with the exact all-reduce", lost)

        lost = differences(lefts, np.roll(values, 1, axis=0), values, devices)
        yield from tally("JAX-EVERY-NEIGHBOUR", "devices reached by ppermute", lost)

"""All devices compute bit-identical results."""

import collections
import zlib

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _collectives
from tpustarter.checks.jax._shares import label
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 1
LESSON = "jax/every-device"
SOURCE = "https://docs.jax.dev/en/latest/notebooks/shard_map.html"
AFTER = ["jax.devices_visible"]

SIZE = 256
PARTS = {
    "MATMUL": "matrix product",
    "FUNCTIONS": "exp, tanh and rsqrt",
    "SUMS": "sums and quotients",
}


def compute(x):
    """Return three results whose rounding shows; they and `x` are `float32[n, n]`."""
    product = x @ x.T
    functions = jnp.exp(-jnp.abs(x)) + jnp.tanh(x) * jax.lax.rsqrt(1 + x * x)
    return product, functions, x / jnp.sum(jnp.abs(x), axis=1, keepdims=True)


def each_alone(x):
    """Return `compute(x)` on this device, without communication."""
    return tuple(result[None] for result in compute(x))


def programs(devices):
    """Yield one program in which every device does the same: `x: float32[n, n]` is on each."""
    mesh = Mesh(np.array(devices), ("d",))
    function = jax.shard_map(each_alone, mesh=mesh, in_specs=P(), out_specs=P("d"), check_vma=False)
    x = _collectives.argument(mesh, P(), SIZE, SIZE, dtype=np.float32)
    yield "each_alone", function, (x,)


def run():
    """Compare the bits of each device's results with those that most devices have."""
    devices = jax.local_devices()
    numbers = np.random.default_rng(0).standard_normal((SIZE, SIZE), np.float32)
    outputs = _collectives.execute(programs(devices), numbers)
    for (code, name), output in zip(PARTS.items(), outputs, strict=True):
        rows = _collectives.shard_rows(output, devices)
        common, lost = odd_ones(rows, devices)
        yield from tally(f"JAX-SAME-{code}", f"devices with the same {name}", lost)
        yield Finding(f"JAX-SAME-{code}-CRC", f"CRC-32 of the {name}", "info", f"{common:08x}")


def odd_ones(rows, devices):
    """Return the checksum that most devices have, and for each device how its bits differ."""
    sums = [zlib.crc32(row.tobytes()) for row in rows]
    common, count = collections.Counter(sums).most_common(1)[0]
    usual, lost = rows[sums.index(common)], {}
    for device, checksum, row in zip(devices, sums, rows, strict=True):
        lost[label(device)] = ""
        if checksum != common:
            bits = np.count_nonzero(row.view(np.uint32) != usual.view(np.uint32))
            lost[label(device)] = f"{bits} of {row.size} numbers differ"
        if count * 2 <= len(devices) and len(devices) > 1:
            lost[label(device)] = f"checksum {checksum:08x}, and no majority"
    return common, lost

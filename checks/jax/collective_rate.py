"""Large collectives stay exact under load."""

import jax
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _bus, _collectives, _links, _timing
from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._figures import figures
from tpustarter.checks.jax._shares import label
from tpustarter.checks.jax._tally import tally

FRAMEWORK = "jax"
LEVEL = "full"
NEEDS = {"devices": 2}
TIMEOUT_S = 300
ESTIMATE_S = 2
LESSON = "jax/what-collectives-cost"
SOURCE = "https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md"
AFTER = ["jax.devices_visible"]

MIB = {"cpu": 1}
"""Size of the array that is moved, by platform; elsewhere 256, which fits no memory but HBM."""


def programs(devices):
    """Yield the loop of each collective and of a small sum: `times: int32[d]`, and its array."""
    count, mesh = len(devices), Mesh(np.array(devices), ("d",))
    bytes_ = MIB.get(devices[0].platform, 256) * 2**20
    for name in _links.MOVES:
        blocks, rows = _links.shape(name, count, bytes_)
        loop = _links.loop(name, count)
        loop.__name__ = name
        mapped = jax.shard_map(loop, mesh=mesh, in_specs=P("d"), out_specs=P("d"))
        shape = (count * blocks, rows, _links.WIDTH)
        x = _collectives.argument(mesh, P("d"), *shape, dtype=np.float32)
        yield name, mapped, (_collectives.argument(mesh, P("d"), count), x)


@with_defaults
def run():
    """Send the first rows of each array around the devices, and count and time the rounds."""
    devices = jax.local_devices()
    count = len(devices)
    yield _bus.links(devices[0])
    for name, loop, (times, x) in programs(devices):
        first = _links.firsts(count, x.shape[0] // count)
        start = (times, _links.placed(x, first))
        timing = _timing.measure(loop, start, platform=devices[0].platform, alone=False)
        last = _collectives.shard_rows(timing.sample, devices).reshape(first.shape)
        expected = _links.lasts(name, first, timing.rounds)
        lost = {
            label(device): _links.difference(*rows)
            for device, *rows in zip(devices, last, expected, strict=True)
        }
        code = f"JAX-BUS-{name.upper().replace('_', '-')}"
        yield from tally(f"{code}-EXACT", f"devices correct after every round of {name}", lost)
        hint, values = _bus.hint(name, devices[0]), timing.together
        if name == "psum_small":
            values = [seconds * 1e6 for seconds in values]
            yield from figures(code, "latency of a 4 KiB psum", values, "us", hint=hint)
        else:
            values = [_bus.gb_per_s(name, x, count, seconds) for seconds in values]
            yield from figures(
                code, f"bus bandwidth of {name}", values, "GB/s", best=max, hint=hint
            )

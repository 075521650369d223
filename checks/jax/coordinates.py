"""Device coordinates match the topology."""

import jax
import numpy as np

from tpustarter.checks.jax import _collectives, _hardware, _ring
from tpustarter.checks.jax._tally import AGAIN, tally
from tpustarter.probe.finding import compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.1
LESSON = "start/chips-cores-devices"
SOURCE = "https://docs.cloud.google.com/tpu/docs/v5e"
AFTER = ["jax.devices_visible"]


def programs(devices):
    """Yield the program that sends each device's row once round the ring: `x: int32[d, w]`."""
    yield from _ring.programs(devices)


def run():
    """Compare the coordinates of all devices, then send rows between the local ones."""
    yield from _hardware.places(jax.devices())
    devices = jax.local_devices()
    around = _ring.order(devices)
    name = "devices in the mesh of jax.make_mesh"
    yield compare("JAX-PLACE-MESH", name, len(set(around)), len(devices), hint=AGAIN)
    numbers = _collectives.blocks(len(around))
    actual = _collectives.shard_rows(_collectives.execute(programs(devices), numbers), around)
    expected, named = np.roll(numbers, 1, axis=0), _collectives.owners(numbers, around)
    lost = _collectives.wrong(actual[:, None], expected[:, None], named, around)
    yield from tally("JAX-PLACE-RING", "devices reached around the ring", lost)

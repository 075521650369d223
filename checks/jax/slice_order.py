"""Hosts and devices are in the slice's order."""

import jax
import numpy as np

from tpustarter.checks.jax import _collectives, _order, _ring, _slices, _torus
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {"hosts": 2}
TIMEOUT_S = 180
ESTIMATE_S = 0.1
LESSON = "slices/torus-and-hops"
SOURCE = "https://docs.cloud.google.com/tpu/docs/system-architecture-tpu-vm"
AFTER = ["jax.slice_program"]


def programs(devices):
    """Yield the program that sends each device's row once round all hosts: `x: int32[d, w]`."""
    yield from _ring.programs(devices)


def order(devices):
    """Yield findings on the order and coordinates of the devices of any slice."""
    yield from _order.together(devices)
    slice_ = [one for one in devices if slice_of(one) == slice_of(devices[0])]
    if not _torus.has_places(slice_):
        kind = devices[0].device_kind
        yield Finding("SLICE-ORDER-BOX", f"coordinates of {kind}", "info", "none on this device")
        return
    yield from _order.blocks(slice_)
    yield from _order.wraparound(slice_, _ring.order(slice_))


def slice_of(device):
    """Return the slice that a device belongs to, where several are joined."""
    return getattr(device, "slice_index", None)


def run():
    """Compare order and coordinates, then send rows round the ring of all hosts."""
    devices = jax.devices()
    yield from order(devices)
    around, numbers = _ring.order(devices), _collectives.blocks(len(devices))
    expected, named = np.roll(numbers, 1, axis=0), _collectives.owners(numbers, around)
    output = _slices.execute(programs(devices), numbers)
    lost = _slices.wrong(output, expected[:, None], named, around)
    yield from tally("SLICE-ORDER-RING", "devices reached round the ring of all hosts", lost)

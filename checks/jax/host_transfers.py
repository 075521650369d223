"""Host transfers return data unchanged."""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._journeys import SIZES, apart, complements, difference, joined, numbers
from tpustarter.checks.jax._shares import label
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.5
LESSON = "jax/array-conversion"
SOURCE = "https://docs.jax.dev/en/latest/_autosummary/jax.copy_to_host_async.html"
AFTER = ["jax.devices_visible"]


def to_device(arrays, device):
    """Start to send one or more NumPy arrays, or JAX arrays on another device, to a device."""
    return jax.device_put(arrays, device)


def to_host(array):
    """Wait for the transfer of a JAX array, and return it as a NumPy array."""
    return np.asarray(array)


def complement(*arrays):
    """Return each array `[1, ...]` with its bits inverted, so an unchanged copy is detected."""
    return tuple(~array for array in arrays)


def programs(devices):
    """Yield the program that inverts the bits of arrays of every size on every device."""
    mesh = Mesh(np.array(devices), ("d",))
    shapes = [((len(devices), *shape), kind) for shape, kind in SIZES]
    sharding = NamedSharding(mesh, P("d"))
    mapped = jax.shard_map(complement, mesh=mesh, in_specs=P("d"), out_specs=P("d"))
    yield "complement", mapped, tuple(jax.ShapeDtypeStruct(*s, sharding=sharding) for s in shapes)


@with_defaults
def run():
    """Send each array alone, then all to all devices at once, then from device to device."""
    devices = jax.local_devices()
    lost = {}
    for place, d in enumerate(devices):
        sent = numbers(place)
        lost[label(d)] = difference(sent, [to_host(to_device(x, d)) for x in sent])
    yield from tally("JAX-TRANSFER-ALONE", "devices that return each array unchanged", lost)

    [(_, function, shapes)] = programs(devices)
    placed = {d: to_device(numbers(place), d) for place, d in enumerate(devices)}
    turned = fetched(apart(jax.jit(function)(*joined(placed, shapes)), devices))
    lost = {label(d): difference(complements(place), turned[d]) for place, d in enumerate(devices)}
    yield from tally("JAX-TRANSFER-MANY", "devices that receive all arrays at once", lost)

    if len(devices) == 1:
        text = "not applicable: one device"
        yield Finding("JAX-TRANSFER-DIRECT", "from device to device", "info", text)
        return
    del turned  # every array of every device twice is enough memory
    ends = dict(zip(devices, devices[1:] + devices[:1], strict=True))
    moved = fetched({end: to_device(placed.pop(d), end) for d, end in ends.items()})
    lost = {label(end): difference(numbers(place), moved[end])
            for place, end in enumerate(ends.values())}  # fmt: skip
    yield from tally("JAX-TRANSFER-DIRECT", "devices that receive another device's arrays", lost)


def fetched(shards):
    """Return the shard of each device as NumPy arrays, all transferred at the same time."""
    for array in (array for shard in shards.values() for array in shard):
        array.copy_to_host_async()
    return {device: [to_host(array) for array in shard] for device, shard in shards.items()}

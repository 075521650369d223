"""Ways to shard one NumPy array over devices, and the shard that each device must then hold."""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def from_callback(numbers, sharding):
    """Return a NumPy array as one sharded array, whose shards are requested by their index."""
    return jax.make_array_from_callback(numbers.shape, sharding, lambda index: numbers[index])


def from_parts(numbers, sharding):
    """Return a NumPy array as one sharded array, made of one array on each device."""
    places = sharding.addressable_devices_indices_map(numbers.shape)
    parts = [jax.device_put(numbers[index], device) for device, index in places.items()]
    return jax.make_array_from_single_device_arrays(numbers.shape, sharding, parts)


WAYS = {"device_put": jax.device_put, "callback": from_callback, "parts": from_parts}
"""The ways to shard a NumPy array over devices."""


def shardings(devices):
    """Return the shardings of two axes over the devices, by name."""
    rows = next(count for count in (4, 2, 1) if len(devices) % count == 0)
    line, grid = np.array(devices), np.array(devices).reshape(rows, -1)
    specs = {"rows": P("d"), "columns": P(None, "d"), "copies": P()}
    result = {name: NamedSharding(Mesh(line, ("d",)), spec) for name, spec in specs.items()}
    return {**result, "blocks": NamedSharding(Mesh(grid, ("r", "c")), P("r", "c"))}


def difference(numbers, array, count):
    """Describe how a sharded array differs from its source, or return an empty string."""
    shards = array.addressable_shards
    if len({shard.device for shard in shards}) != count:
        return f"on {len(shards)} of {count} devices"
    for shard in shards:
        if not np.array_equal(np.asarray(shard.data), numbers[shard.index]):
            return f"wrong numbers on device:{shard.device.id}"
    return "" if np.array_equal(np.asarray(array), numbers) else "wrong numbers as a whole"

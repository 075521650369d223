"""The same work on every device at once, and which devices differ from the majority.

The rule to know: inputs are replicated, so each device computes everything by itself and there is
no communication. The result of the majority is the reference; the other devices are named.
"""

from collections import Counter

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax._shares import label
from tpustarter.checks.jax._transfers import room


def everywhere(devices):
    """Return the sharding that puts a whole copy of an array on each device."""
    return NamedSharding(Mesh(np.array(devices), ("d",)), P())


def on_each(function, devices):
    """Return a function that runs on each device by itself and stacks the results by device."""

    def work(*arrays):
        return jax.tree.map(lambda x: x[None], function(*arrays))

    work.__name__ = function.__name__
    mesh = Mesh(np.array(devices), ("d",))
    return jax.shard_map(work, mesh=mesh, in_specs=P(), out_specs=P("d"))


def send(arrays, devices):
    """Return NumPy arrays as JAX arrays, a whole one on each device.

    CPU devices share memory that is aligned, instead of copying it once for each of them.
    """
    aligned = []
    for array in arrays:
        aligned.append(room(array.nbytes).view(array.dtype).reshape(array.shape))
        aligned[-1][...] = array
    return jax.device_put(aligned, everywhere(devices))


def fetch(results, devices):
    """Return for each named result its rows in the order of `devices`, without copying them."""
    for output in results.values():
        output.copy_to_host_async()
    named = {}
    for name, output in results.items():
        rows = {shard.device: np.asarray(shard.data)[0] for shard in output.addressable_shards}
        named[name] = [rows[device] for device in devices]
    return named


def equal_bits(row, other):
    """Return whether two NumPy arrays hold the same bits, those of NaN included."""
    first, second = (np.ascontiguousarray(array).view(np.uint8) for array in (row, other))
    return np.array_equal(first, second)


def answers(results):
    """Return for each named result the row on most devices, from what `fetch` returned."""
    common = {}
    for name, rows in results.items():
        common[name] = rows[0]
        if 2 * sum(equal_bits(row, rows[0]) for row in rows) <= len(rows):
            bits = [row.tobytes() for row in rows]
            most, _ = Counter(bits).most_common(1)[0]
            common[name] = rows[bits.index(most)]
    return common


def outsiders(results, common, devices):
    """Return for each device which results differ in any bit from `common`, or an empty text."""
    texts = {}
    for place, device in enumerate(devices):
        names = [n for n, rows in results.items() if not equal_bits(rows[place], common[n])]
        texts[label(device)] = f"other bits in: {', '.join(names)}" if names else ""
    return texts

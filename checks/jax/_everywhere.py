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


def answers(results):
    """Return for each named result the value on most devices, from arrays `[d, ...]`."""
    common = {}
    for name, rows in results.items():
        bits = [row.tobytes() for row in rows]
        most, _ = Counter(bits).most_common(1)[0]
        common[name] = rows[bits.index(most)]
    return common


def outsiders(results, common, devices):
    """Return for each device which results differ in any bit from `common`, or an empty text."""
    texts = {}
    for place, device in enumerate(devices):
        names = [n for n, rows in results.items() if rows[place].tobytes() != common[n].tobytes()]
        texts[label(device)] = f"other bits in: {', '.join(names)}" if names else ""
    return texts

"""Arrays and programs over the devices of all hosts, each host with its own part of them.

The rule to know: a host provides and reads only the shards of its own devices, so each compares
these, and together they compare all. A device belongs to the host of its `process_index`.
"""

import jax
import numpy as np

from tpustarter.checks.jax import _collectives


def own(devices):
    """Return the devices that belong to this host."""
    return [device for device in devices if device.process_index == jax.process_index()]


def hosts(devices):
    """Return the devices of each host, by its number."""
    groups = {device.process_index: [] for device in devices}
    for device in devices:
        groups[device.process_index].append(device)
    return dict(sorted(groups.items()))


def grid(devices):
    """Return the devices as an array `[h, l]`: a row for each host."""
    return np.array(list(hosts(devices).values()))


def placed(array, abstract):
    """Return a NumPy array that every host has as one JAX array, sharded like an abstract one."""
    array = array.astype(abstract.dtype)
    return jax.make_array_from_callback(array.shape, abstract.sharding, lambda at: array[at])


def execute(programs, *numbers):
    """Return the result of a check's one program for `numbers`, which every host has."""
    [(_, function, arguments)] = programs
    return jax.jit(function)(*map(placed, numbers, arguments))


def wrong(output, expected, named, devices):
    """Return for each device of this host how its blocks differ, or an empty text.

    `output` has a row for each of `devices`, whose blocks are to be those of `expected[d, k, w]`.
    """
    mine = own(devices)
    places = [devices.index(device) for device in mine]
    actual = _collectives.shard_rows(output, mine).reshape(len(mine), -1, output.shape[-1])
    return _collectives.wrong(actual, expected[places], named, mine)

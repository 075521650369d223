"""`leaf.nbytes` is the size of the whole array. Where is the list of what each
device holds?

Every JAX array has `addressable_shards`. A shard has a `device`, and its
`data` is an array as well, with an `nbytes` of its own.

Begin with a 0 for every device. Then add `shard.data.nbytes` to the entry of
`shard.device.id`, for each shard of each leaf that is a `jax.Array`.

Learned: The bytes of each device are the sum over `addressable_shards`. A
replicated array counts in full on every device, a sharded one in parts.
"""

import jax
import numpy as np


def bytes_by_device(state, devices):
    """Return {device id: bytes of the state on this device}."""
    found = {device.id: 0 for device in devices}
    for leaf in jax.tree.leaves(state):
        if isinstance(leaf, jax.Array):
            for shard in leaf.addressable_shards:
                found[shard.device.id] += shard.data.nbytes
    return found

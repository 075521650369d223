"""How many rows are missing to the next multiple of the devices?

`-len(rows) % n` says it. `np.pad(rows, ((0, rest), (0, 0)))` adds rows of
zeros.

They must count nothing: weights of 1 for rows that were there, 0 for the
others.

`jax.device_put(both, cut)` takes a pair, and cuts each.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("d",))
cut = NamedSharding(mesh, P("d"))


def place(rows):
    """Return `rows: float32[n, w]` and their weights, both cut."""
    rest = -len(rows) % jax.device_count()
    weights = np.pad(np.ones(len(rows), np.float32), (0, rest))
    rows = np.pad(rows, ((0, rest), (0, 0)))
    return jax.device_put((rows, weights), cut)

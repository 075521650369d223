"""Placements for measuring the host's side of a program: one device, then all of them."""

import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

WHERE = {"one": "one device", "all": "all devices"}


def placements(devices):
    """Yield `one` with a row of the first device, and `all` with a row of all if there are more.

    Arrays are sharded over axis `d`, their first.
    """
    yield "one", NamedSharding(Mesh(np.array(devices[:1]), ("d",)), P("d"))
    if len(devices) > 1:
        yield "all", NamedSharding(Mesh(np.array(devices), ("d",)), P("d"))


def row(placed):
    """Return the devices of an array or an abstract one, in their order."""
    return list(placed.sharding.mesh.devices.flat)

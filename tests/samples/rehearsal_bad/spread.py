"""One program over all devices, one over two, one over too many."""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def total(x):
    return x.sum()


def over(devices, count):
    mesh = Mesh(np.array(devices[:count]), ("d",))
    return jax.ShapeDtypeStruct((count, 128), "float32", sharding=NamedSharding(mesh, P("d")))


def programs(devices):
    yield "all", total, (over(devices, len(devices)),)
    yield "two", total, (over(devices, 2),)

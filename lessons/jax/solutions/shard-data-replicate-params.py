"""Two shardings on the mesh are enough, one for each dictionary.

`P("d")` shards the first axis along the mesh axis `d`. `P()` shards no
axis, so the array is replicated.

`jax.device_put` takes a whole dictionary:
`jax.device_put(batch, NamedSharding(mesh, P("d")))`.

Learned: Data parallelism is two shardings: the batch partitioned along one
mesh axis, and the parameters replicated. JAX inserts the all-reduce.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

n = jax.device_count()
mesh = jax.make_mesh((n,), ("d",), axis_types=(AxisType.Auto,))


def place(params, batch):
    """Return both dictionaries with their arrays on all devices."""
    replicated = jax.device_put(params, NamedSharding(mesh, P()))
    sharded = jax.device_put(batch, NamedSharding(mesh, P("d")))
    return replicated, sharded

"""Two specs are enough, one for each dictionary.

`jax.P("d")` shards the first axis along the mesh axis `d`. `jax.P()`
shards no axis, so the array is replicated.

`jax.device_put` takes a whole dictionary:
`jax.device_put(batch, jax.P("d"))`.

Learned: Data parallelism is two shardings: the batch partitioned along one
mesh axis, and the parameters replicated. JAX inserts the all-reduce.
"""

import jax
import jax.numpy as jnp
import numpy as np

n = jax.device_count()
jax.set_mesh(jax.make_mesh((n,), ("d",)))


def place(params, batch):
    """Return both dictionaries with their arrays on all devices."""
    replicated = jax.device_put(params, jax.P())
    sharded = jax.device_put(batch, jax.P("d"))
    return replicated, sharded

"""A row of the product needs one row of `x`, a column one column of `w`.

`P` has a place for each axis of the array. Its first place cuts rows, its
second columns.

`jax.device_put(x, NamedSharding(mesh, P("data")))` cuts the rows of `x`.
For the columns of `w`, leave the first place empty with `None`.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

grid = np.array(jax.devices()).reshape(2, -1)
mesh = Mesh(grid, ("data", "model"))


def place(x, w):
    """Return `x: float32[r, k]` and `w: float32[k, c]`, both cut."""
    rows = NamedSharding(mesh, P("data"))
    columns = NamedSharding(mesh, P(None, "model"))
    return jax.device_put(x, rows), jax.device_put(w, columns)

"""A row of the product needs one row of `x` and all columns of `w`; a column, one column of `w`.

`P` has a place for each axis of the array. Its first place cuts rows, its second columns.

`jax.device_put(x, NamedSharding(mesh, P("data")))` cuts the rows of `x`. For the columns of `w`,
leave the first place empty with `None`.
"""

import re

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(2, -1), ("data", "model"))


def place(x, w):
    """Return `x: float32[r, k]` and `w: float32[k, c]`, cut over `mesh`."""
    rows, columns = NamedSharding(mesh, P("data")), NamedSharding(mesh, P(None, "model"))
    return jax.device_put(x, rows), jax.device_put(w, columns)

"""Load a tensor onto a mesh, and never read more than one shard at a time.

`load` gets a `file` with the shape and dtype of a tensor and a method
`read(rows, columns)`, which takes two slices and returns that part as a
NumPy array. It returns a `jax.Array` with the given sharding.

* No part that is read may be larger than a shard.
* Each part is read once, even if several devices hold the same one.
"""

import jax
import jax.numpy as jnp
import numpy as np


def load(file, sharding):
    """Return the tensor of a file, sharded."""
    whole = file.read(slice(None), slice(None))
    return jax.device_put(whole, sharding)  # fix this


# Judged below: leave this part as it is.


class File:
    """A file with one tensor, which counts what is read."""

    def __init__(self, values):
        self._values = values
        self.shape, self.dtype = values.shape, values.dtype
        self.sizes = []

    def read(self, rows, columns):
        part = self._values[rows, columns]
        self.sizes.append(part.size)
        return part


values = np.arange(64 * 16, dtype=np.float32).reshape(64, 16)
count = jax.device_count()
half = 2 if count % 2 == 0 else 1
mesh = jax.make_mesh((half, count // half), ("data", "model"))
SPECS = {
    "rows over all devices": jax.P(("data", "model")),
    "rows over one axis, replicated over the other": jax.P("data"),
    "columns over one axis": jax.P(None, "data"),
    "both axes": jax.P("model", "data"),
    "replicated": jax.P(),
}
for case, spec in SPECS.items():
    sharding = jax.NamedSharding(mesh, spec)
    file = File(values)
    array = load(file, sharding)
    assert array.sharding == sharding, f"{case}: {array.sharding}"
    message = f"{case}: the numbers are not those of the file"
    assert np.array_equal(np.asarray(array), values), message
    shard = int(np.prod(sharding.shard_shape(values.shape)))
    message = f"{case}: read {max(file.sizes)} numbers at once, "
    assert max(file.sizes) <= shard, f"{message}a shard has {shard}"
    message = f"{case}: read {sum(file.sizes)} numbers in all, "
    assert sum(file.sizes) == values.size, f"{message}not {values.size}"
print("loaded in", len(SPECS), "ways on", count, "devices")

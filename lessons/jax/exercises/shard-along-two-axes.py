"""Shard along two axes.

The mesh has two axes: `data`, of size 2, and `model`, which takes the rest
of the devices. Shard `x` and `w` so that no device needs data from another
one to compute its shard of `x @ w`: partition the rows of `x` along `data`
and the columns of `w` along `model`. Every device then holds half of `x`,
and of `w` the columns that belong to its index along `model`.
"""

import jax
import jax.numpy as jnp
import numpy as np
from collectives import count_collectives

count = jax.device_count()
rows = min(2, count)
mesh = jax.make_mesh((rows, count // rows), ("data", "model"))
jax.set_mesh(mesh)


def place(x, w):
    """Return `x: float32[m, k]` and `w: float32[k, n]`, both sharded."""
    x_spec = jax.P()  # your code here
    w_spec = jax.P()  # your code here
    return jax.device_put(x, x_spec), jax.device_put(w, w_spec)


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
x = rng.integers(0, 9, (16, 16)).astype(np.float32)
w = rng.integers(0, 9, (16, 16)).astype(np.float32)
placed = place(x, w)
shard_shapes = {
    "x": (16 // mesh.shape["data"], 16),
    "w": (16, 16 // mesh.shape["model"]),
}
for name, array in zip("xw", placed, strict=True):
    used = len(array.sharding.device_set)
    message = f"{name} is on {used} devices, expected {mesh.size}"
    assert used == mesh.size, message
    found = array.addressable_shards[0].data.shape
    expected = shard_shapes[name]
    message = (
        f"your spec of {name} is {array.sharding.spec}: a device holds"
        f" {found} of it, expected {expected}"
    )
    assert found == expected, message

program = jax.jit(jnp.matmul).lower(*placed).compile()
collectives = count_collectives(program.as_text())
message = (
    f"the compiler added {', '.join(collectives)}, expected no collective:"
    " some device needs rows or columns that it does not hold"
)
assert not collectives, message

product = program(*placed)
message = "the product differs from NumPy's, expected the same numbers"
assert np.array_equal(jax.device_get(product), x @ w), message
found = product.addressable_shards[0].data.shape
print("a device holds", found, "of the product", product.shape)

"""Cut a product so that every device holds little and nothing is sent.

`mesh` is a grid of all devices: two rows along `data`, the rest of them
along `model`. Cut `x` and `w` so that every device holds half of the rows
of `x`, and of the columns of `w` the share of its place along `model`.
Then it can compute its piece of `x @ w`, and no device needs anything
from another one. `place` returns both arrays, cut.
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
    return x, w  # your code here


# Judged below: leave this part as it is.

count = jax.device_count()
columns = count // 2
rng = np.random.default_rng(0)
x, w = rng.integers(0, 9, (2, 16, 16)).astype(np.float32)
placed = place(jnp.asarray(x), jnp.asarray(w))
pieces = [(8, 16), (16, 16 // columns)]
for name, one, piece in zip("xw", placed, pieces, strict=True):
    used = len(one.sharding.device_set)
    assert used == count, f"{name} is on {used} devices, expected {count}"
    held = one.addressable_shards[0].data.shape
    told = f"a device holds {held} of {name}, expected {piece}"
    assert held == piece, told

program = jax.jit(jnp.matmul).lower(*placed).compile()
exchange = r"(all-\w+|reduce-scatter|collective-permute)(?:-start)?\("
sent = ", ".join(re.findall(exchange, program.as_text()))
assert not sent, f"devices send each other {sent}, expected nothing"

product = program(*placed)
same = np.array_equal(np.asarray(product), x @ w)
assert same, "the product differs from NumPy's, expected the same"
piece = product.addressable_shards[0].data.shape
print("a device holds", piece, "of", product.shape)

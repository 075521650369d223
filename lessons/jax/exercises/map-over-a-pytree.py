"""Double every array of a pytree.

A model is often a pytree of dictionaries and lists. In this one, some
leaves are JAX arrays, some are NumPy arrays, and some are no arrays at
all: a name, a number of layers, and a rate (`np.float32(0.5)` is a NumPy
scalar, not an array). `double` must return the same structure with every
array doubled and every other leaf unchanged. It must also work inside a
function under `jax.jit`.
"""

import jax
import jax.numpy as jnp
import numpy as np


def double(tree):
    """Return `tree` with each array in it doubled."""
    return tree  # your code here


# Judged below: leave this part as it is.

model = {
    "name": "small",
    "layers": 2,
    "rate": np.float32(0.5),
    "weights": [jnp.ones(3), np.arange(3)],
    "bias": {"last": jnp.array(4.0)},
}
found = double(model)
weights = [np.asarray(array).tolist() for array in found["weights"]]
expected = [[2.0, 2.0, 2.0], [0, 2, 4]]
assert weights == expected, f"the weights are {weights}, expected {expected}"

last = float(found["bias"]["last"])
assert last == 8, f"the array of rank 0 is {last}, expected 8.0"

others = [found[name] for name in ("name", "layers", "rate")]
expected = ["small", 2, 0.5]
message = f"the other leaves are {others}, expected {expected}"
assert others == expected, message


@jax.jit
def inside(x):
    return double({"x": x, "name": "n"})["x"]


traced = inside(np.ones(2)).tolist()
assert traced == [2.0, 2.0], f"inside jit {traced}, expected [2.0, 2.0]"

plain = double(["a", 1])
assert plain == ["a", 1], f"found {plain}, expected ['a', 1]"
print("each array doubled, every other leaf unchanged")

"""Double every array of a model, and nothing else.

A model is often a nest of dictionaries and lists. Here some leaves are
arrays of JAX, some of NumPy, and some are no arrays at all: a name, a
number of layers, a rate (`np.float32(0.5)`, one number, is no array).
`double` must return the same nest with every array doubled and all else
as it was. It must do so inside a function under `jax.jit` as well.
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
weights = [np.asarray(one).tolist() for one in found["weights"]]
wanted = [[2.0, 2.0, 2.0], [0, 2, 4]]
assert weights == wanted, f"the weights are {weights}, expected {wanted}"

last = float(found["bias"]["last"])
assert last == 8, f"the array without an axis is {last}, expected 8.0"

others = [found[name] for name in ("name", "layers", "rate")]
wanted = ["small", 2, 0.5]
told = f"what is no array became {others}, expected {wanted}"
assert others == wanted, told


@jax.jit
def inside(x):
    return double({"x": x, "name": "n"})["x"]


traced = inside(np.ones(2)).tolist()
assert traced == [2.0, 2.0], f"inside jit {traced}, expected [2.0, 2.0]"

plain = double(["a", 1])
assert plain == ["a", 1], f"found {plain}, expected ['a', 1]"
print("each array doubled, all else as it was")

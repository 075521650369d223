"""Write one training step for every device.

`place` puts the parameters on all devices, each with the whole, and cuts the rows of the batch
along the mesh. `step` computes the mean over all rows of `(x @ w + b - y) ** 2`, moves each
parameter by minus `rate` times its gradient, and returns the new parameters and the loss, the one
from before the move.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

mesh = Mesh(jax.devices(), ("data",))


def place(params, x, y):
    """Return `params` copied to all devices, and `x` and `y` cut by rows."""
    return params, x, y  # your code here


@jax.jit
def step(params, x, y, rate):
    """Return the parameters after one step, and the loss before it."""
    return params, 0.0  # your code here


# Judged below: leave this part as it is.

n = jax.device_count()
rng = np.random.default_rng(0)
x = rng.normal(size=(n * 16, 3)).astype(np.float32)
y = (x @ np.array([1.0, -2.0, 0.5]) + 3).astype(np.float32)
w, b = np.zeros(3), 0.0
params, x_cut, y_cut = place({"w": jnp.zeros(3), "b": jnp.zeros(())}, x, y)
for name, value in params.items():
    held = len(value.addressable_shards), value.addressable_shards[0].data.shape
    expected = n, value.shape
    assert held == expected, f"`{name}`: (devices, what each holds) is {held}, expected {expected}"
for name, value in {"x": x_cut, "y": y_cut}.items():
    assert isinstance(value, jax.Array), f"`{name}` is a {type(value).__name__}, on no device"
    held = len(value.addressable_shards), value.addressable_shards[0].data.shape[0]
    assert held == (n, 16), f"`{name}`: (devices, rows on each) is {held}, expected {(n, 16)}"
with jax.default_matmul_precision("highest"):
    for turn in range(100):
        off = x @ w + b - y
        before = float((off**2).mean())
        w, b = w - 0.1 * 2 * off @ x / len(x), b - 0.1 * 2 * off.mean()
        params, loss = step(params, x_cut, y_cut, 0.1)
        said = f"step {turn}: the loss is {float(loss):.4f}, expected {before:.4f}"
        assert np.isclose(loss, before, rtol=1e-3, atol=1e-5), said
        found, expected = np.append(params["w"], params["b"]), np.append(w, b)
        said = f"step {turn}: w and b are {found.round(4)}, expected {expected.round(4)}"
        assert np.allclose(found, expected, rtol=1e-3, atol=1e-4), said
on = len(params["w"].devices())
assert on == n, f"after the steps `w` is on {on} devices, expected {n}"
print("w and b found:", np.append(params["w"], params["b"]).round(1))

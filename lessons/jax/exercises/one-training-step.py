"""Write one training step with sharded weights.

The model is linear, `x @ w + b`, with several outputs. `place` shards
the rows of `x` and `y` and the columns of `w` over the mesh axis `data`,
and replicates `b`. `step` gathers `w` just before the matmul, as FSDP
does. Its loss is the mean of `(x @ w + b - y) ** 2` over all rows and
columns. It moves each parameter by minus `rate` times its gradient, and
returns the new parameters and the loss before the move. The new `w` is
sharded like the old one.
"""

import jax
import jax.numpy as jnp
import numpy as np

jax.set_mesh(jax.make_mesh((jax.device_count(),), ("data",)))


def place(params, x, y):
    """Return `params`, `x` and `y` on the devices, sharded for FSDP."""
    return params, x, y  # your code here


@jax.jit
def step(params, x, y, rate):
    """Return the parameters after one step, and the loss before it."""
    return params, 0.0  # your code here


# Judged below: leave this part as it is.

n = jax.device_count()
rng = np.random.default_rng(0)
x = rng.normal(size=(n * 16, 3)).astype(np.float32)
true_w = rng.normal(size=(3, n * 2)).astype(np.float32)
y = x @ true_w + np.float32(3)
w = np.zeros((3, n * 2))
b = np.zeros(n * 2)
start = {"w": jnp.zeros((3, n * 2)), "b": jnp.zeros(n * 2)}
params, x_sharded, y_sharded = place(start, x, y)
arrays = {**params, "x": x_sharded, "y": y_sharded}
shapes = {"w": (3, 2), "b": (n * 2,), "x": (16, 3), "y": (16, n * 2)}
for name, shape in shapes.items():
    array = arrays[name]
    message = f"`{name}` is a {type(array).__name__}, expected a jax.Array"
    assert isinstance(array, jax.Array), message
    on = len(array.addressable_shards)
    assert on == n, f"`{name}` is on {on} of {n} devices, place it on all"
    shard = array.addressable_shards[0].data.shape
    message = f"each device holds {shard} of `{name}`, expected {shape}"
    assert shard == shape, message

with jax.default_matmul_precision("highest"):
    for count in range(50):
        error = x @ w + b - y
        expected_loss = float((error**2).mean())
        w = w - 0.5 * 2 * x.T @ error / error.size
        b = b - 0.5 * 2 * error.sum(0) / error.size
        params, loss = step(params, x_sharded, y_sharded, 0.5)
        shape = np.shape(loss)
        message = f"the loss has shape {shape}, expected one number for all"
        assert shape == (), f"{message}: take the mean of all errors"
        message = f"step {count}: your loss is {loss:.4f}"
        close = np.isclose(loss, expected_loss, rtol=1e-3, atol=1e-5)
        assert close, f"{message}, expected {expected_loss:.4f}"
        for name, expected in {"w": w, "b": b}.items():
            found = np.asarray(params[name])
            message = f"step {count}: `{name}` begins {found.ravel()[:3]}"
            close = np.allclose(found, expected, rtol=1e-3, atol=1e-4)
            start = np.asarray(expected).ravel()[:3].round(4)
            assert close, f"{message}, expected {start}"
        shard = params["w"].addressable_shards[0].data.shape
        message = f"after step {count} each device holds {shard} of `w`"
        reason = "the update must leave it sharded"
        assert shard == (3, 2), f"{message}, expected (3, 2): {reason}"
print("50 steps as on one device, and `w` is still sharded")

"""Write data parallel training with collectives of your own.

Inside `jax.shard_map` every device sees its own rows of the batch. Write
`loss_of_all`, which a device calls with the parameters and its rows, and
which returns the loss over the rows of all devices. JAX then takes the
gradient of it. The parameters are replicated, and for those `jax.grad` adds
up the gradients of all devices by itself.
"""

import jax
import jax.numpy as jnp
import numpy as np


def loss_of_rows(params, rows):
    """Return the mean squared error of some rows."""
    x, y = rows[:, :-1], rows[:, -1]
    hidden = jnp.tanh(x @ params["up"])
    return jnp.mean((hidden @ params["down"] - y) ** 2)


def loss_of_all(params, rows):
    """Return the loss over all rows; the devices are the axis "data"."""
    return loss_of_rows(params, rows)  # your code here


# Judged below: leave this part as it is.

n = jax.device_count()
rng = np.random.default_rng(0)
params = {
    "up": np.float32(rng.normal(size=(4, 16))),
    "down": np.float32(rng.normal(size=16)),
}
rows = np.float32(rng.normal(size=(8 * n, 5)))
with jax.default_matmul_precision("highest"):
    expected = jax.value_and_grad(loss_of_rows)(params, rows)


def on_a_device(params, rows):
    loss, grads = jax.value_and_grad(loss_of_all)(params, rows)
    return loss[None], grads


with (
    jax.set_mesh(jax.make_mesh((n,), ("data",))),
    jax.default_matmul_precision("highest"),
):
    found = jax.jit(
        jax.shard_map(
            on_a_device,
            in_specs=(jax.P(), jax.P("data")),
            out_specs=(jax.P("data"), jax.P()),
        )
    )(params, jax.device_put(rows, jax.P("data")))
losses = np.asarray(found[0])
message = f"the devices have losses from {losses.min():.3f} to "
message += f"{losses.max():.3f}, expected {expected[0]:.3f} on each"
assert np.allclose(losses, expected[0], rtol=1e-3), message
for name, wanted in expected[1].items():
    ratio = float(jnp.linalg.norm(found[1][name]) / jnp.linalg.norm(wanted))
    message = f"the gradient of {name} is {ratio:.2f} times as large as on one"
    assert np.allclose(found[1][name], wanted, atol=1e-3), message
print(f"{n} devices agree on the loss, and on the gradient of one device")

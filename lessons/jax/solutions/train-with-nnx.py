"""`nnx.Linear` takes a `kernel_init`. Give it `lecun_normal()`, with the
argument `out_sharding=jax.P("data")` filled in by `partial`.

Write the loss as a function of the model. `nnx.value_and_grad` of it
returns the loss and gradients in the form that the optimizer takes.

`optimizer.update(model, grads)` changes the model in place, so `step`
only returns the loss. Put `@nnx.jit` above it.

Learned: Sharding a layer is one argument when you create it, and the step
that trains it stays as it is on one device.
"""

from functools import partial

import jax
import numpy as np
import optax
from flax import nnx

jax.set_mesh(jax.make_mesh((jax.device_count(),), ("data",)))


class Regressor(nnx.Module):
    """Two layers, the second with a sharded kernel."""

    def __init__(self, width, rngs):
        self.first = nnx.Linear(8, width, use_bias=False, rngs=rngs)
        init = nnx.initializers.lecun_normal()
        sharded = partial(init, out_sharding=jax.P("data"))
        self.second = nnx.Linear(
            width, 1, use_bias=False, kernel_init=sharded, rngs=rngs
        )

    def __call__(self, x):
        return self.second(nnx.relu(self.first(x)))


@nnx.jit
def step(model, optimizer, batch):
    """Update `model` in place, and return the loss before the update."""
    x, y = batch

    def loss_fn(model):
        return ((model(x) - y) ** 2).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


# Judged below: leave this part as it is.

n = jax.device_count()
rng = np.random.default_rng(0)
x = rng.normal(size=(n * 16, 8)).astype(np.float32)
y = np.maximum(x[:, :1], 0) - x[:, 1:2]
model = Regressor(n * 8, nnx.Rngs(0))
kernel = model.second.kernel[...]
shard = kernel.addressable_shards[0].data.shape
message = f"each device holds {shard} of the second kernel, expected (8, 1)"
assert shard == (8, 1), message
shape = model.first.kernel[...].addressable_shards[0].data.shape
message = f"each device holds {shape} of the first kernel"
assert shape == (8, n * 8), f"{message}, expected all of it"

weights = [np.asarray(model.first.kernel[...]), np.asarray(kernel)]
hidden = np.maximum(x @ weights[0], 0)
expected = float(((hidden @ weights[1] - y) ** 2).mean())
optimizer = nnx.Optimizer(model, optax.adamw(1e-2), wrt=nnx.Param)
batch = jax.device_put((x, y), jax.P("data"))
with jax.default_matmul_precision("highest"):
    losses = [step(model, optimizer, batch) for _ in range(60)]
message = f"the first loss is {float(losses[0]):.4f}"
close = np.isclose(losses[0], expected, rtol=1e-3)
assert close, f"{message}, expected {expected:.4f}"
assert hasattr(step, "lower"), "`step` is not compiled: use nnx.jit"
last = float(losses[-1])
message = f"after 60 steps the loss is {last:.4f}, expected below 0.1"
assert last < 0.1, f"{message}: does the optimizer update the model?"
kernel = model.second.kernel[...]
shard = kernel.addressable_shards[0].data.shape
message = f"after training each device holds {shard} of the second kernel"
assert shard == (8, 1), f"{message}, expected (8, 1)"
print("60 steps, and the second kernel is still sharded")

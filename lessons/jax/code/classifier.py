"""The classifier of "Train on every device", with its loss and step."""

from functools import partial

import jax
import optax
from flax import nnx


class Classifier(nnx.Module):
    """Three layers that sort points on a plane into three classes."""

    def __init__(self, width, spec, rngs):
        """Create the layers, with two kernels sharded by `spec`."""
        init = nnx.initializers.lecun_normal()
        sharded = partial(init, out_sharding=spec)
        self.first = nnx.Linear(2, width, rngs=rngs)
        self.hidden = nnx.Linear(width, width, kernel_init=sharded, rngs=rngs)
        self.last = nnx.Linear(width, 3, kernel_init=sharded, rngs=rngs)

    def __call__(self, x):
        """Return float32[b, 3] logits of float32[b, 2] points."""
        x = nnx.relu(self.first(x))
        x = nnx.relu(self.hidden(x))
        return self.last(x)


def loss_fn(model, batch):
    """Return the mean cross-entropy of a batch of points and labels."""
    x, label = batch
    losses = optax.softmax_cross_entropy_with_integer_labels(model(x), label)
    return losses.mean()


@nnx.jit
def train_step(model, optimizer, batch):
    """Update the model in place, and return the loss before the update."""
    loss, grads = nnx.value_and_grad(loss_fn)(model, batch)
    optimizer.update(model, grads)
    return loss


evaluate = nnx.jit(loss_fn)


def create(spec, rate=3e-3, width=256, seed=0):
    """Return a new model and its optimizer, on the mesh that is set."""
    model = Classifier(width, spec, nnx.Rngs(seed))
    return model, nnx.Optimizer(model, optax.adamw(rate), wrt=nnx.Param)


def on_devices(batch):
    """Return a batch with its rows sharded along the mesh axis `data`."""
    return jax.device_put(batch, jax.P("data"))

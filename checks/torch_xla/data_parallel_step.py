"""A data parallel step equals the step on one device."""

import torch_xla
import torch_xla.distributed.spmd as xs

from tpustarter.checks.torch_xla import _spmd, _training
from tpustarter.checks.torch_xla._tally import tally

FRAMEWORK = "torch_xla"
LEVEL = "full"
NEEDS = {}
TIMEOUT_S = 300
ESTIMATE_S = 8
LESSON = "pytorch/train-on-every-device"
SOURCE = "https://docs.pytorch.org/xla/release/r2.9/perf/spmd_basic.html"
AFTER = ["torch_xla.devices_visible"]
OWN_PROCESS = True
MEAN = "average the loss over the global batch, because a sum over devices scales the learning rate"
SHARD = "call `xs.mark_sharding(batch, mesh, ('data', None))` before the step"


def loss_of(outputs, targets):
    """Return the error averaged over the global batch, over all devices."""
    return _training.mean_loss(outputs, targets)


def sharded(x, mesh):
    """Return a batch whose rows are sharded over all devices."""
    xs.mark_sharding(x, mesh, ("data", None))
    return x


def train(x, y):
    """Return loss and parameters after one step on one device."""
    model, optimizer = _training.fresh(x.device)
    return _training.step(model, optimizer, x, y, loss_of), *model.parameters()


def programs(devices):
    """List the training step of one device."""
    yield "step", train, _training.batch()


def run():
    """Train one step on all devices, and compare loss and parameters with float64 on the host."""
    with _spmd.all_devices("data") as (device, mesh):
        model, optimizer = _training.fresh(device)
        x, y = _training.batch(4 * mesh.size())
        x_on_devices, y_on_devices = (sharded(part.to(device), mesh) for part in (x, y))
        lost = _spmd.rows_lost(_spmd.shards(x_on_devices), x.numpy())
        yield from tally("XLA-DATA-ROWS", "devices with their rows of the batch", lost, SHARD)

        loss = _training.step(model, optimizer, x_on_devices, y_on_devices, loss_of)
        torch_xla.sync()
        expected_loss, expected = _training.reference(x, y)
        lost = _training.differences(_training.on_host(model), expected)
        name = "parameters equal to those of one device"
        yield from tally("XLA-DATA-STEP", name, lost, MEAN)
        yield _training.same_loss("XLA-DATA-LOSS", loss.item(), expected_loss, MEAN)

        lost = {}
        for name, parameter in model.named_parameters():
            held = _spmd.copies_lost(_spmd.shards(parameter), _spmd.whole(parameter))
            differ = [device for device, text in held.items() if text]
            lost[f"parameter:{name}"] = ", ".join(differ)
        name = "parameters that are the same on every device"
        yield from tally("XLA-DATA-SAME", name, lost)

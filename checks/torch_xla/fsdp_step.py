"""A step with FSDP equals the step on one device."""

import torch_xla
import torch_xla.distributed.spmd as xs
from torch_xla.experimental.spmd_fully_sharded_data_parallel import SpmdFullyShardedDataParallel

from tpustarter.checks.torch_xla import _spmd, _training
from tpustarter.checks.torch_xla._tally import AGAIN, tally

FRAMEWORK = "torch_xla"
LEVEL = "full"
NEEDS = {}
TIMEOUT_S = 300
ESTIMATE_S = 8
LESSON = "pytorch/train-on-every-device"
SOURCE = "https://docs.pytorch.org/xla/release/r2.9/perf/fsdp_spmd.html"
AFTER = ["torch_xla.devices_visible"]
OWN_PROCESS = True
WRAP = "pass the model to `SpmdFullyShardedDataParallel(model, mesh=mesh)` before the optimizer"


def wrapped(model, mesh):
    """Return a model whose parameters are sharded over all devices."""
    return SpmdFullyShardedDataParallel(model, mesh=mesh)


def run():
    """Train one step on all devices, and compare loss and parameters with float64 on the host."""
    with _spmd.all_devices("fsdp") as (device, mesh):
        hidden = _training.hidden_for(mesh.size())
        model = wrapped(_training.Model(hidden).to(device), mesh)
        optimizer = _training.optimizer_of(model)
        x, y = _training.batch(4 * mesh.size())
        x_on_devices, y_on_devices = x.to(device), y.to(device)
        for part in (x_on_devices, y_on_devices):
            xs.mark_sharding(part, mesh, ("fsdp", None))
        lost = _spmd.unsharded(model)
        yield from tally("XLA-FSDP-SHARDS", "parameters sharded over all devices", lost, WRAP)

        loss = _training.step(model, optimizer, x_on_devices, y_on_devices)
        torch_xla.sync()
        expected_loss, expected = _training.reference(x, y, hidden)
        lost = _training.differences(_training.on_host(model, _spmd.WRAPPED), expected)
        name = "parameters equal to those of one device"
        yield from tally("XLA-FSDP-STEP", name, lost, WRAP)
        yield _training.same_loss("XLA-FSDP-LOSS", loss.item(), expected_loss, AGAIN)

        lost = _spmd.unsharded(model)
        yield from tally("XLA-FSDP-KEPT", "parameters still sharded after the step", lost, WRAP)

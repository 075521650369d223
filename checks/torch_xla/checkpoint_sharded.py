"""A sharded checkpoint restores every shard."""

import tempfile
import warnings

import torch
import torch.distributed.checkpoint as dcp
import torch_xla
from torch_xla.experimental.distributed_checkpoint import SPMDLoadPlanner, SPMDSavePlanner
from torch_xla.experimental.spmd_fully_sharded_data_parallel import SpmdFullyShardedDataParallel

from tpustarter.checks.torch_xla import _spmd, _training
from tpustarter.checks.torch_xla._tally import tally

FRAMEWORK = "torch_xla"
LEVEL = "full"
NEEDS = {}
TIMEOUT_S = 300
ESTIMATE_S = 8
LESSON = "pytorch/save-and-load"
SOURCE = "https://docs.pytorch.org/xla/release/r2.9/perf/spmd_distributed_checkpoint.html"
AFTER = ["torch_xla.devices_visible"]
OWN_PROCESS = True
PLAN = "pass `SPMDSavePlanner()` to `dcp.save` and `SPMDLoadPlanner()` to `dcp.load`"


def save(state, folder):
    """Write a state from all devices, each shard by itself."""
    dcp.save(state, checkpoint_id=folder, planner=SPMDSavePlanner(), no_dist=True)


def load(state, folder):
    """Read a state into the shards of another, in place."""
    dcp.load(state, checkpoint_id=folder, planner=SPMDLoadPlanner(), no_dist=True)


def sharded_model(device, mesh):
    """Return a new model whose parameters are sharded over all devices."""
    model = _training.Model(_training.hidden_for(mesh.size()))
    return SpmdFullyShardedDataParallel(model.to(device), mesh=mesh)


def shard_differences(model, other):
    """Return for each parameter on which devices the shards of two models differ."""
    lost = {}
    for (name, one), two in zip(model.named_parameters(), other.parameters(), strict=True):
        held, restored = _spmd.shards(one), _spmd.shards(two)
        differ = [device for device in held if _spmd.described(restored[device], held[device])]
        lost[f"parameter:{name.removeprefix(_spmd.WRAPPED)}"] = ", ".join(differ)
    return lost


def run():
    """Save a trained model, restore it into one of zeros, and compare the shards."""
    with _spmd.all_devices("fsdp") as (device, mesh), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that one process saves alone, and of types of storage
        model = sharded_model(device, mesh)
        x, y = (part.to(device) for part in _training.batch(4 * mesh.size()))
        _training.step(model, _training.optimizer_of(model), x, y)
        torch_xla.sync()
        other = sharded_model(device, mesh)
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.zero_()
        torch_xla.sync()
        with tempfile.TemporaryDirectory(prefix="tpustarter-checkpoint-") as folder:
            save({"model": model.state_dict()}, folder)
            state = {"model": other.state_dict()}
            load(state, folder)
            other.load_state_dict(state["model"])
        lost = shard_differences(model, other)
        name = "parameters restored on every device"
        yield from tally("XLA-SHARDED-SAME", name, lost, PLAN)
        lost = _spmd.unsharded(other)
        yield from tally("XLA-SHARDED-KEPT", "parameters still sharded", lost, PLAN)

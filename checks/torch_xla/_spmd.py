"""One program for all devices, which XLA shards, and the shards that each device holds.

The rule to know: `use_spmd()` holds for the whole process, so that only checks with `OWN_PROCESS`
import this.
"""

import contextlib
import math
import os

import numpy as np
import torch_xla
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr

WRAPPED = "_orig_module."
"""Prefix of the names of parameters in a model that is wrapped for FSDP."""


@contextlib.contextmanager
def all_devices(axis):
    """Yield the device that represents all devices, and a mesh of one axis over them."""
    xr.use_spmd()
    try:
        count = xr.global_runtime_device_count()
        yield torch_xla.device(), xs.Mesh(np.arange(count), (count,), (axis,))
    finally:
        os.environ.pop("XLA_USE_SPMD", None)  # torch_xla leaves it to the processes started later


def shards(tensor):
    """Return the shard of a tensor on each device of this process, as NumPy arrays by device."""
    torch_xla.sync(wait=True)  # without, the shards of a pending tensor are sometimes not there
    tensor = xs.wrap_if_sharded(tensor.detach())
    if not isinstance(tensor, xs.XLAShardedTensor):  # XLA replicates unsharded tensors
        return {f"device:{n}": whole(tensor) for n in range(xr.addressable_runtime_device_count())}
    return {
        f"device:{shard.shard_device.partition(':')[2]}": shard.data.cpu().numpy()
        for shard in tensor.local_shards
    }


def unsharded(model):
    """Return for each parameter its size on a device if larger than a shard, or an empty text."""
    lost, count = {}, xr.global_runtime_device_count()
    for name, parameter in model.named_parameters():
        held = max(numbers.size for numbers in shards(parameter).values())
        text = f"{held} of {parameter.numel()} numbers on a device"
        enough = held <= math.ceil(parameter.numel() / count)
        lost[f"parameter:{name.removeprefix(WRAPPED)}"] = "" if enough else text
    return lost


def whole(tensor):
    """Return a tensor's numbers from all devices as one NumPy array."""
    return tensor.detach().cpu().numpy()


def rows_lost(held, expected):
    """Return for each device how its rows differ from its equal part of `expected`, in order."""
    parts = np.split(expected, len(held))
    return {
        device: described(numbers, part)
        for (device, numbers), part in zip(held.items(), parts, strict=True)
    }


def copies_lost(held, expected):
    """Return for each device how its copy differs from `expected`."""
    return {device: described(numbers, expected) for device, numbers in held.items()}


def described(numbers, expected):
    """Describe how an array differs from the expected one, or return an empty string."""
    if numbers.shape != expected.shape:
        return f"shape {list(numbers.shape)}, expected {list(expected.shape)}"
    wrong = int((numbers != expected).sum())
    return f"{wrong} of {expected.size} numbers wrong" if wrong else ""

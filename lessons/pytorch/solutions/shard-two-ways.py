"""A spec has one entry for each axis of the tensor. The batch is the first
axis of `x`, and its features stay whole.

The weight is [out, in], so the output features are its first axis. The bias
has only that axis.

The output has the batch first and the output features second, so it takes
one mesh axis from `x` and the other one from the weight.

Learned: Shard the batch along one mesh axis and the output features along
the other, and the sharding of the output follows from both.
"""

import numpy as np
import torch
import torch_xla.distributed.spmd as xs
import torch_xla.runtime as xr
from torch import nn

xr.use_spmd()
count = xr.global_runtime_device_count()
rows = min(2, count)
mesh = xs.Mesh(np.arange(count), (rows, count // rows), ("data", "model"))


def forward(layer, x):
    """Mark `x: float32[32, 16]` and the layer, and return its output."""
    xs.mark_sharding(x, mesh, ("data", None))
    xs.mark_sharding(layer.weight, mesh, ("model", None))
    xs.mark_sharding(layer.bias, mesh, ("model",))
    output = layer(x)
    xs.mark_sharding(output, mesh, ("data", "model"))
    return output

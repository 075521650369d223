"""Shard two ways.

The mesh has two axes: `data`, of size 2, and `model`, which takes the rest
of the devices. Mark the tensors of a layer so that every device holds half
of the batch, and along `model` its part of the output features: the rows of
the weight (PyTorch stores it as [out, in]) and the bias. Give the output the
sharding that follows from that.
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
    # your code here: replace each None that should not be one
    xs.mark_sharding(x, mesh, (None, None))
    xs.mark_sharding(layer.weight, mesh, (None, None))
    xs.mark_sharding(layer.bias, mesh, (None,))
    output = layer(x)
    xs.mark_sharding(output, mesh, (None, None))
    return output


# Judged below: leave this part as it is.

torch.manual_seed(0)
layer = nn.Linear(16, 64)
x = torch.randn(32, 16)
expected = layer(x).detach().numpy()
layer = layer.to("xla")
x = x.to("xla")
output = forward(layer, x)

model = count // rows
shapes = {
    "x": (x, (32 // rows, 16)),
    "weight": (layer.weight, (64 // model, 16)),
    "bias": (layer.bias, (64 // model,)),
    "output": (output, (32 // rows, 64 // model)),
}
for name, (tensor, wanted) in shapes.items():
    shards = xs.xla_sharding.wrap_as_sharded_tensor(tensor).local_shards
    found = tuple(shards[0].data.shape)
    message = (
        f"a device holds {found} of {name} {tuple(tensor.shape)}, expected"
        f" {wanted}: the entries of a spec belong to the axes of the tensor"
    )
    assert found == wanted, message
difference = np.abs(output.detach().cpu().numpy() - expected).max()
message = f"the output differs by {difference:.4f}, expected less than 0.05"
assert difference < 0.05, message
print("a device holds", shapes["output"][1], "of the output (32, 64)")

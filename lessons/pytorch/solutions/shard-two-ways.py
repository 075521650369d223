"""A spec has one entry for each axis of the tensor. The batch is the first
axis of `x`, and its features stay whole.

The weight is [out, in], so the output features are its first axis. The bias
has only that axis.

The output has the batch first and the output features second, so it takes
one mesh axis from `x` and the other one from the weight.
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

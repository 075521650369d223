"""Which two lines name `cuda`? Neither does what it did on a GPU.

`torch.autocast("xla", dtype=torch.bfloat16)` computes in bfloat16 on an XLA
device.

Bfloat16 has the range of float32, so no gradient underflows. Without the
scaler, `loss.backward()` and `optimizer.step()` are enough, and no number is
read in the middle of the step.

Learned: A gradient scaler doubles the executions of a step, and bfloat16
needs none.
"""

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.debug.metrics as met
from torch import nn

device = torch_xla.device()
torch.manual_seed(0)
model = nn.Linear(8, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train_step(rows, labels):
    """Take one step, and return the loss as a tensor on the device."""
    optimizer.zero_grad()
    with torch.autocast("xla", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(rows), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()

"""It stops in the last line of `train`, because the rank and the number of
ranks moved from `xm` to `xr`, where they have other names.

The rank is `xr.global_ordinal()` and the number of ranks `xr.world_size()`.
The two other old names still work and warn: run the program with
`python -W default::DeprecationWarning`, and each warning names its line and
what to write instead.

`torch_xla.device()` is the device of this process, and `torch_xla.sync()`
ends a step.

Learned: A program from 2021 needs three new names today:
`torch_xla.device()`, `torch_xla.sync()`, and the rank and world size from
`xr`.
"""

import warnings

import torch
import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.runtime as xr


def train(steps):
    """Return `(losses, rank, ranks)` after some steps of SGD."""
    device = torch_xla.device()
    model = torch.nn.Linear(4, 1).to(device)
    torch.nn.init.constant_(model.weight, 0.5)
    torch.nn.init.zeros_(model.bias)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    batch = torch.ones(2, 4).to(device)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(batch).pow(2).mean()
        loss.backward()
        optimizer.step()
        torch_xla.sync()
        losses.append(round(loss.item(), 4))
    return losses, xr.global_ordinal(), xr.world_size()

"""Two things in the function depend on the device: where `.to` moves the
model and the data, and whether a step ends with a sync.

`device.startswith("xla")` tells whether it is an XLA device. On any other
one there is nothing to do at the end of a step.

`loss.item()` in the loop waits for the device, and with lazy tensors it also
runs a program of its own. Append `loss.detach()`, and after the loop return
`torch.stack(losses).tolist()`.

Learned: Only `.to(device)` and the sync at the end of a step depend on the
device, and losses that are fetched after the loop never make a step wait.
"""

import torch
import torch_xla


def train(device, model, x, y, steps):
    """Return the losses of some steps of SGD, as a list of floats."""
    model = model.to(device)
    x = x.to(device)
    y = y.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        if device.startswith("xla"):
            torch_xla.sync()
    return torch.stack(losses).cpu().tolist()

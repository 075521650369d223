"""`torch.nonzero` finds the violated rows, and how many there are depends on
the data. Keep all rows, and give each of them a weight of 1.0 or 0.0. The
comparison `margins > 0` gives you that weight as a tensor.

A mean over the violated rows is a sum of weighted rows, divided by the sum
of the weights.

If no row is violated, the sum of the weights is 0. `torch.clamp(..., min=1)`
makes the division safe without asking, and the result is 0 because the sum
above the line is 0.

Learned: A weight of 1 or 0 for each row replaces `nonzero`, so the shapes
are fixed and every step executes one program on the device.
"""

import torch
import torch_xla
import torch_xla.debug.metrics as met

weights = torch.linspace(-1.0, 1.0, 8)


def hinge_step(weights, rows, labels):
    """Return new weights and the loss, both on the device.

    `weights: float32[8]`, `rows: float32[n, 8]`, `labels: float32[n]`.
    """
    margins = 1 - labels * (rows @ weights)
    violated = (margins > 0).float()
    count = violated.sum().clamp(min=1.0)
    loss = (margins * violated).sum() / count
    gradient = -((labels * violated)[:, None] * rows).sum(0) / count
    return weights - 0.1 * gradient, loss

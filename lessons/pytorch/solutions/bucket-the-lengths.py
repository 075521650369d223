"""Choose the smallest bucket that holds the rows, and pad on the CPU, before
anything is recorded. `nn.functional.pad(rows, (0, 0, 0, missing))` adds rows
at the end.

The mask is a tensor with one number per row: 1.0 for a real row, 0.0 for an
added one. It has the padded length, so its shape is the same for the whole
bucket.

Multiply the scores by the mask before you sum. Then divide by the number of
real rows, which is `mask.sum()`. The mean over the padded length would be too
small, because the added rows count in its divisor.

Learned: Every new length compiles again, so pad to a few lengths and let a
mask keep the added rows out of the mean.
"""

import torch
import torch_xla
import torch_xla.debug.metrics as met
from torch import nn

BUCKETS = (32, 64, 128)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)).to("xla")
torch_xla.sync()


def mean_score(rows):
    """Return the mean of the model's scores of `rows: float32[n, 8]`."""
    length = min(bucket for bucket in BUCKETS if bucket >= len(rows))
    mask = (torch.arange(length) < len(rows)).float().to("xla")
    padded = nn.functional.pad(rows, (0, 0, 0, length - len(rows)))
    scores = model(padded.to("xla"))[:, 0]
    mean = (scores * mask).sum() / mask.sum()
    torch_xla.sync()
    return mean.item()

"""Choose the smallest bucket that holds the rows, and pad on the CPU, before
anything is recorded. `nn.functional.pad(rows, (0, 0, 0, missing))` adds rows
at the end.

The mask is a tensor with one number per row: 1.0 for a real row, 0.0 for an
added one. It has the padded length, so its shape is the same for the whole
bucket.

Multiply the scores by the mask before you sum. Then divide by the number of
real rows, and take that number from the mask: `mask.sum()` is data on the
device, while `len(rows)` would be a Python number.
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


# Judged below: leave this part as it is.

lengths = [3, 17, 30, 32, 40, 63, 65, 80, 99, 120, 127, 128]
generator = torch.Generator().manual_seed(1)
batches = [torch.randn(length, 8, generator=generator) for length in lengths]
on_cpu = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
on_cpu.load_state_dict({k: v.cpu() for k, v in model.state_dict().items()})
with torch.no_grad():
    expected = [on_cpu(batch)[:, 0].mean().item() for batch in batches]

met.clear_all()
found = [mean_score(batch) for batch in batches]
compiled = met.counter_value("UncachedCompile") or 0
for length, number, wanted in zip(lengths, found, expected, strict=True):
    message = (
        f"{length} rows: your mean is {number:.5f}, expected {wanted:.5f}."
        " Rows that were added count in a sum unless a mask removes them,"
        " and they count in the length by which you divide"
    )
    assert abs(number - wanted) < 1e-4, message

message = (
    f"{compiled} programs were compiled for {len(set(lengths))} lengths,"
    f" expected at most {len(BUCKETS)}: some shape, or some Python number"
    " in the graph, still differs from batch to batch"
)
assert compiled <= len(BUCKETS), message
print(f"{len(lengths)} lengths, {compiled} programs")

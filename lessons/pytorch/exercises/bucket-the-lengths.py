"""Pad to a few lengths, with a mask.

`mean_score` gets batches of many lengths, and each new length compiles
again. Pad every batch to the next length in `BUCKETS`, so that at most
three programs are compiled. The mean must still be the mean of the real
rows, so the rows that you add must not count.
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
    # your code here: pad `rows` on the CPU, and make a mask of its rows
    scores = model(rows.to("xla"))[:, 0]
    mean = scores.mean()
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

"""Accumulate in float32.

`train` takes bfloat16 parameters and adds bfloat16 updates to them, so small
updates are rounded away and the weights stop far from their goal. Keep a
float32 copy of the weights, update the copy, and compute the gradient with a
bfloat16 version of it. `train` returns the float32 copy.
"""

import torch
import torch_xla

LEARNING_RATE = 0.002
STEPS = 300


def gradient_of(weights, target):
    """Return the gradient of the loss, in the dtype of `weights`."""
    assert weights.dtype == torch.bfloat16, "the model computes in bfloat16"
    return 2 * (weights - target.to(weights.dtype))


def train(weights, target):
    """Return the trained weights, `float32[4]`, from `bfloat16[4]`."""
    for _ in range(STEPS):
        # your code here
        weights = weights - LEARNING_RATE * gradient_of(weights, target)
        torch_xla.sync()
    return weights


# Judged below: leave this part as it is.

target = torch.tensor([3.0, -2.0, 0.5, 1.0]).to("xla")
start = torch.ones(4, dtype=torch.bfloat16).to("xla")
weights = train(start, target)
message = f"train returned {weights.dtype}, expected torch.float32"
assert weights.dtype == torch.float32, message

expected = torch.ones(4)
for _ in range(STEPS):
    gradient = 2 * (expected - target.cpu())
    expected = expected - LEARNING_RATE * gradient
difference = (weights.cpu() - expected).abs().max().item()
message = (
    f"a weight is {difference:.3f} from where float32 training ends,"
    " expected less than 0.02: an update of one part in a thousand is lost"
    " if the weights are rounded to bfloat16 before the next step"
)
assert difference < 0.02, message
found = [round(weight, 2) for weight in weights.tolist()]
print("weights", found, "within", round(difference, 4))

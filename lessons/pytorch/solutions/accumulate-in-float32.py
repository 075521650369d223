"""The float32 copy is often called the master weights. Make it once, before
the loop, with `weights.float()`.

In each step, hand a rounded version to the model: the gradient is computed
with `master.bfloat16()` and has dtype bfloat16, too.

Update the copy itself. A float32 minus a bfloat16 is a float32, so nothing
is lost if the gradient is multiplied by the learning rate as a float32.

Learned: Train with bfloat16 and keep a float32 copy of the weights, because
small updates are rounded away in bfloat16.
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
    master = weights.float()
    for _ in range(STEPS):
        gradient = gradient_of(master.bfloat16(), target)
        master = master - LEARNING_RATE * gradient.float()
        torch_xla.sync()
    return master

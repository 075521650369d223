"""A training step gives the same weights as NumPy."""

import numpy as np
import torch

from tpustarter.probe.finding import compare

FRAMEWORK = "torch_tpu"
LEVEL = "quick"
NEEDS = {"platform": "tpu"}
TIMEOUT_S = 240
ESTIMATE_S = 1
LESSON = "pytorch/to-torchtpu"
SOURCE = "https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html"
AFTER = ["torch_tpu.accelerator_visible"]

BATCH, FEATURES = 8, 4
RATE = 2**-4
AGAIN = "run this check again; do not trust a device that fails twice"


def loss_of(weights, x, y):
    """Return half the sum of squared errors: `x: f32[8, 4]`, `weights: f32[4]`, `y: f32[8]`."""
    return ((x @ weights - y) ** 2).sum() / 2


def step(weights, x, y):
    """Change the weights by one step of SGD, and return the loss before it."""
    optimizer = torch.optim.SGD([weights], lr=RATE)
    optimizer.zero_grad()
    loss = loss_of(weights, x, y)
    loss.backward()
    optimizer.step()
    return loss


def expected_step(weights, x, y):
    """Return loss and new weights in float64; small whole numbers are exact at any precision."""
    errors = x @ weights - y
    return (errors**2).sum() / 2, weights - RATE * (x.T @ errors)


def run(device="tpu"):
    """Take one step on the device, and one in NumPy."""
    draw = np.random.default_rng(0)
    x = draw.integers(-2, 3, (BATCH, FEATURES)).astype(np.float64)
    y = draw.integers(-4, 5, BATCH).astype(np.float64)
    start = draw.integers(-2, 3, FEATURES).astype(np.float64)
    loss, weights = expected_step(start, x, y)
    x_device, y_device, weights_device = (
        torch.tensor(array, dtype=torch.float32).to(device) for array in (x, y, start)
    )
    weights_device.requires_grad_()
    found = step(weights_device, x_device, y_device)
    yield compare("TTPU-TRAINING-LOSS", "loss", found.item(), float(loss), hint=AGAIN)
    wrong = int((weights_device.detach().cpu().numpy() != weights).sum())
    yield compare(
        code="TTPU-TRAINING-WEIGHTS",
        name=f"wrong weights of {FEATURES} after one step",
        found=wrong,
        expected=0,
        hint=AGAIN,
    )

"""One small model and its training step, whose first step is exact at every precision.

The rule to know: inputs, weights and targets are small whole numbers, so that all products of the
first step are exact in bfloat16 and all sums in float32, whatever a TPU's matmul rounds to. Only
with a batch that is not a power of two is the mean rounded. So one step has one right answer.
"""

import math

import numpy as np
import torch

from tpustarter.probe.finding import Finding

FEATURES = 4
HIDDEN = 16
OUTPUTS = 2
RATE = 0.125
MOMENTUM = 0.5
BOUND = 1e-6
"""Largest relative difference that float32 rounding explains in sums of this length."""


class Model(torch.nn.Module):
    """Two layers with a ReLU between them: `float32[b, 4]` to `float32[b, 2]`."""

    def __init__(self, hidden=HIDDEN):
        super().__init__()
        draw = np.random.default_rng(1)
        self.first = torch.nn.Linear(FEATURES, hidden, device="meta")
        self.second = torch.nn.Linear(hidden, OUTPUTS, bias=False, device="meta")
        self.to_empty(device="cpu")
        with torch.no_grad():
            for parameter in self.parameters():
                numbers = draw.integers(-1, 2, tuple(parameter.shape)).astype(np.float32)
                parameter.copy_(torch.from_numpy(numbers))

    def forward(self, x):
        """Return the outputs for `x: float32[b, 4]`."""
        return self.second(torch.relu(self.first(x)))


def hidden_for(devices):
    """Return a width of the hidden layer that divides equally over the devices."""
    return HIDDEN * math.ceil(devices / HIDDEN)


def fresh(device, hidden=HIDDEN):
    """Return a new model on a device, and its optimizer."""
    model = Model(hidden).to(device)
    return model, optimizer_of(model)


def optimizer_of(model):
    """Return the optimizer of a model that is on its device already."""
    return torch.optim.SGD(model.parameters(), lr=RATE / 16, momentum=MOMENTUM)


def batch(size=16):
    """Return inputs `float32[b, 4]` and targets `float32[b, 2]`, drawn by NumPy, not by torch."""
    draw = np.random.default_rng(2)
    shapes = (size, FEATURES), (size, OUTPUTS)
    return [torch.from_numpy(draw.integers(-1, 2, s).astype(np.float32)) for s in shapes]


def mean_loss(outputs, targets):
    """Return the squared error, averaged over the batch."""
    return torch.nn.functional.mse_loss(outputs, targets)


def step(model, optimizer, x, y, loss_of=mean_loss):
    """Train one step, and return its loss, which stays on the device."""
    optimizer.zero_grad()
    loss = loss_of(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.detach()


def reference(x, y, hidden=HIDDEN):
    """Return the loss and the parameters after one step in float64 on the host, by name."""
    model = Model(hidden).double()
    loss = step(model, optimizer_of(model), x.double(), y.double())
    return loss.item(), {name: value.detach().numpy() for name, value in model.named_parameters()}


def differences(actual, expected):
    """Return for each parameter how it differs from `expected` beyond rounding, or empty text."""
    lost = {}
    for name, numbers in expected.items():
        error = np.abs(actual[name] - numbers).max() / max(1, np.abs(numbers).max())
        lost[f"parameter:{name}"] = "" if error <= BOUND else f"relative error {error:.1e}"
    return lost


def same_loss(code, actual, expected, hint):
    """Return the finding that a loss equals the reference's, within float32 rounding."""
    same = math.isclose(actual, expected, rel_tol=BOUND)
    verdict, hint = ("ok", None) if same else ("fail", hint)
    return Finding(code, "loss of the step", verdict, actual, expected, hint=hint)


def on_host(model, prefix=""):
    """Return the parameters of a model as NumPy arrays, by the name that they have in `Model`."""
    return {
        name.removeprefix(prefix): value.detach().cpu().numpy()
        for name, value in model.named_parameters()
    }

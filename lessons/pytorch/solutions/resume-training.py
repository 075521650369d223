"""`xm.save` copies every tensor in a nested dictionary to the CPU.

The next step depends on four things: the parameters, the averages in
`optimizer.state_dict()`, the step, and the random state of the device, which
`xm.get_rng_state()` returns as a number.

In `load`, restore all of them. `xm.set_rng_state(number)` sets the random
state, and it should come last, because making a model draws numbers, too.

Learned: A run resumes exactly when the checkpoint holds the parameters, the
optimizer state, the step and the random state of the device.
"""

import tempfile
from pathlib import Path

import torch
import torch_xla
import torch_xla.core.xla_model as xm
from torch import nn

inputs = torch.arange(32.0).reshape(4, 8).to("xla") / 32


def make():
    layers = [nn.Linear(8, 16), nn.Dropout(0.5), nn.Linear(16, 1)]
    model = nn.Sequential(*layers).to("xla")
    return model, torch.optim.Adam(model.parameters(), lr=0.05)


def save(path, model, optimizer, step):
    """Write a checkpoint."""
    checkpoint = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "step": step,
        "device_seed": xm.get_rng_state(),
    }
    xm.save(checkpoint, path)


def load(path, model, optimizer):
    """Restore what `save` wrote, and return the step."""
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    xm.set_rng_state(checkpoint["device_seed"])
    return checkpoint["step"]

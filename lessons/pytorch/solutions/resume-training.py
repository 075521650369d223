"""`xm.save` copies every tensor in a nested dictionary to the CPU.

The next step depends on four things: the parameters, the averages in
`optimizer.state_dict()`, the step, and the random state of the device, which
`xm.get_rng_state()` returns as a number.

In `load`, restore all of them. `xm.set_rng_state(number)` sets the random
state, and it should come last, because making a model draws numbers, too.
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


# Judged below: leave this part as it is.


def run_steps(model, optimizer, steps):
    losses = []
    for _ in range(steps):
        with torch_xla.step():
            optimizer.zero_grad()
            loss = model(inputs).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    return [round(loss.item(), 6) for loss in losses]


def devices_in(value):
    if isinstance(value, torch.Tensor):
        return {value.device.type}
    values = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list | tuple):
        return set()
    return set().union(*map(devices_in, values))


path = Path(tempfile.mkdtemp()) / "checkpoint.pt"
torch_xla.manual_seed(7)
model, optimizer = make()
run_steps(model, optimizer, 4)
save(path, model, optimizer, 4)
expected = run_steps(model, optimizer, 4)

found = devices_in(torch.load(path, weights_only=True))
message = f"the file holds tensors on {sorted(found)}, expected cpu alone"
assert found == {"cpu"}, message

torch_xla.manual_seed(1)
model, optimizer = make()
step = load(path, model, optimizer)
message = f"load returned step {step}, expected 4"
assert step == 4, message
resumed = run_steps(model, optimizer, 4)
message = (
    f"the resumed losses are {resumed}, expected {expected}. If the first one"
    " differs, the dropout mask does; if only later ones do, look at the"
    " state of the optimizer"
)
difference = max(abs(a - b) for a, b in zip(resumed, expected, strict=True))
assert difference < 1e-4, message
print("resumed at step", step, "with the same losses")

"""Views share their base on XLA, and copies do not."""

import numpy as np
import torch
import torch_xla

from tpustarter.checks.torch_xla._tally import tally
from tpustarter.checks.torch_xla._views import COPIES, VIEWS, quirks

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.8
LESSON = "pytorch/numpy-and-torch"
SOURCE = "https://docs.pytorch.org/docs/stable/tensor_view.html"
AFTER = ["torch_xla.devices_visible"]

CLONE = "call `x.clone()` before an in-place operation, until views can be trusted here"
HOST = "`x.clone()` or `array.copy()` before the conversion keeps both sides apart"


def viewed(make, x):
    """Return a view or a copy of `x`, as one of the functions above makes it."""
    return make(x)


def run():
    """Write through every view and copy and look at the base, then cross from host to device."""
    device, lost = torch_xla.devices()[0], {}
    for name, make in VIEWS.items():
        expected, actual = (written(make, torch.zeros(4, 4, device=on)) for on in ("cpu", device))
        lost[f"view:{name}"] = "" if torch.equal(expected, actual) else "the base kept its numbers"
    yield from tally("XLA-VIEWS-WRITE", "views through which the base is written", lost, CLONE)
    lost = {}
    for name, make in VIEWS.items():
        base = torch.zeros(4, 4, device=device)
        view = viewed(make, base)
        torch_xla.sync()  # what is compiled apart still belongs together
        base.add_(1)
        lost[f"view:{name}"] = "" if bool((view == 1).all()) else "the view kept its numbers"
    yield from tally("XLA-VIEWS-READ", "views that show what their base became", lost, CLONE)
    lost = {}
    for name, make in COPIES.items():
        changed = bool(written(make, torch.zeros(4, 4, device=device)).any())
        lost[f"copy:{name}"] = "the original changed" if changed else ""
    yield from tally("XLA-COPIES-APART", "copies that leave the original alone", lost, CLONE)
    yield from tally("XLA-COPIES-HOST", "ways between host and device", crossings(device), HOST)
    yield from quirks(device)


def written(make, base):
    """Return the base, on the CPU, after a view or a copy of it was written in place."""
    viewed(make, base).add_(1)
    return base.cpu()


def crossings(device):
    """Return for each way between NumPy, torch and XLA how it differs from what is documented."""
    array = np.zeros(4, np.float32)
    shared = torch.from_numpy(array)
    sent = shared.to(device)
    array[0] = 1
    torch_xla.sync(wait=True)
    seen, apart = bool(shared[0] == 1), bool((sent == 0).all())
    same = sent.to(device) is sent
    base = torch.zeros(2, 2)
    moved, view = base.to(device), base[0].to(device)
    view.add_(1)
    free = not bool(moved.any())
    return {
        "way:torch.from_numpy": "" if seen else "made a copy, expected shared memory",
        "way:cpu to xla": "" if apart else "a later write on the host reached the device",
        "way:a view to xla": "" if free else "the view still belongs to its base",
        "way:xla to its own device": "" if same else "made a copy, expected the same tensor",
    }

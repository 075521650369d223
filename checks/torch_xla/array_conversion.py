"""NumPy to torch to XLA and back keeps every bit."""

import numpy as np
import torch
import torch_xla

from tpustarter.checks.torch_xla import _arrays
from tpustarter.checks.torch_xla._tally import tally
from tpustarter.probe.finding import Finding, compare
from tpustarter.probe.target import target

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.2
LESSON = "pytorch/numpy-and-torch"
SOURCE = "https://docs.pytorch.org/xla/master/learn/pytorch-on-xla-devices.html"
AFTER = ["torch_xla.devices_visible"]

CPU_FIRST = "`x.cpu().numpy()` copies an XLA tensor to the host first"


def to_xla(tensor, device):
    """Return a CPU tensor of any shape on an XLA device."""
    return tensor.to(device)


def to_cpu(tensor):
    """Return an XLA tensor of any shape on the CPU."""
    return tensor.cpu()


def run():
    """Send every dtype, bit pattern and kind of shape to the device and back."""
    device, platform, lost, both = torch_xla.devices()[0], target().platform, {}, {}
    for name in _arrays.names():
        entity, (text, refusal) = f"dtype:{name}", attempt(name, device)
        if refusal or (text and name in _arrays.LOSSY[platform]):
            found, hint = f"refused: {refusal}" if refusal else text, _arrays.KEEP.get(name)
            what, verdict = f"{name} to the device and back", "info" if refusal else "warn"
            yield Finding("XLA-CONVERT-LIMITED", what, verdict, found, entity=entity, hint=hint)
        else:
            lost[entity] = text
        if _arrays.in_numpy(name):
            sent = _arrays.patterns(name)
            both[entity] = _arrays.difference(sent, torch.from_numpy(sent.numpy()))
    yield from tally("XLA-CONVERT-NUMPY", "dtypes that NumPy and torch share bit for bit", both)
    yield from tally("XLA-CONVERT-DTYPE", "dtypes that round-trip to the device", lost)
    shapes = _arrays.shapes().items()
    lost = {f"shape:{name}": travel(tensor, device) for name, tensor in shapes}
    yield from tally("XLA-CONVERT-SHAPE", "shapes that round-trip to the device", lost)
    code, name = "XLA-CONVERT-REFUSED", "`.numpy()` of an XLA tensor"
    yield compare(code, name, refused(torch.ones(2, device=device)), "TypeError", hint=CPU_FIRST)


def travel(tensor, device):
    """Describe how a tensor differs after a round trip, or return an empty string."""
    return _arrays.difference(tensor, to_cpu(to_xla(tensor, device)))


def attempt(name, device):
    """Describe how a dtype differs after a round trip, and the refusal of an optional dtype."""
    try:
        return travel(_arrays.patterns(name), device), ""
    except RuntimeError as refusal:
        if name in _arrays.CORE:
            raise
        return "", str(refusal).partition("\n")[0][:80]


def refused(tensor):
    """Return the name of NumPy's error when it converts a tensor, or the type of the result."""
    try:
        return type(np.asarray(tensor)).__name__
    except TypeError as refusal:
        return type(refusal).__name__

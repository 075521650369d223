"""Nothing runs before `torch_xla.sync()`, and then once."""

import numpy as np
import torch
import torch_xla

from tpustarter.checks.torch_xla import _counters
from tpustarter.checks.torch_xla._tally import AGAIN, tally
from tpustarter.probe.finding import compare

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.2
LESSON = "pytorch/lazy-tensors"
SOURCE = "https://docs.pytorch.org/xla/release/r2.9/learn/pytorch-on-xla-devices.html"
AFTER = ["torch_xla.devices_visible"]
HIDDEN = "look for `print`, `.item()`, `.cpu()` and `if tensor:` before `torch_xla.sync()`"


def chain(x):
    """Return four operations on `x: int32[16]`, none of which needs its result on the host."""
    return torch.relu(3 * x - 7) + x


def expected_values(x):
    """Return the results of the same operations in NumPy."""
    return np.maximum(3 * x - 7, 0) + x


def readers():
    """Return the ways to look at a pending tensor on the host, each of which has to execute it."""
    return {
        "item": lambda y: y[0].item(),
        "print": repr,
        "cpu": lambda y: y.cpu(),
        "numpy": lambda y: y.cpu().numpy(),
        "if": lambda y: bool(y[0] == 0),
    }


def programs(devices):
    """List the four operations."""
    yield "chain", chain, (torch.empty(16, dtype=torch.int32),)


def run():
    """Count executions before, at and after the sync, then for each way to read a tensor."""
    numbers = np.arange(-8, 8, dtype=np.int32)
    x = torch.from_numpy(numbers).to(torch_xla.device())
    _counters.finish()

    y, counts = _counters.counted(lambda: chain(x))
    name = "executions before the sync"
    yield compare("XLA-LAZY-BEFORE", name, counts[_counters.EXECUTED], 0, hint=HIDDEN)
    _, counts = _counters.counted(torch_xla.sync)
    name = "executions of the four operations by the sync"
    yield compare("XLA-LAZY-SYNC", name, counts[_counters.EXECUTED], 1, hint=HIDDEN)
    read, counts = _counters.counted(lambda: y.cpu().numpy())
    name = "executions to read a result after the sync"
    yield compare("XLA-LAZY-AFTER", name, counts[_counters.EXECUTED], 0, hint=HIDDEN)
    wrong = int((read != expected_values(numbers)).sum())
    yield compare("XLA-LAZY-VALUES", "wrong results among 16", wrong, 0, hint=AGAIN)

    lost = {}
    for reader, look in readers().items():
        pending = x * 2
        _, counts = _counters.counted(lambda: look(pending))  # noqa: B023  called at once
        text = f"{counts[_counters.EXECUTED]} executions, {counts[_counters.FETCHED]} transfers"
        lost[f"reader:{reader}"] = "" if text == "1 executions, 1 transfers" else text
    name = "ways to read a pending tensor that execute it"
    yield from tally("XLA-LAZY-READ", name, lost)

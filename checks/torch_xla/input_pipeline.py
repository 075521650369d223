"""The loader returns each batch once, in order."""

import os

import torch
import torch_xla
from torch.utils.data import DataLoader
from torch_xla.distributed.parallel_loader import MpDeviceLoader

from tpustarter.checks.torch_xla import _counters
from tpustarter.checks.torch_xla._tally import tally
from tpustarter.probe.finding import compare

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.5
LESSON = "pytorch/train-on-every-device"
SOURCE = "https://docs.pytorch.org/xla/release/r2.9/learn/pytorch-on-xla-devices.html"
AFTER = ["torch_xla.devices_visible"]
WRAP = "put `MpDeviceLoader(loader, torch_xla.device())` around a DataLoader with a known order"
SYNC = "iterate over the MpDeviceLoader itself, because its `next` calls `torch_xla.sync()`"

RACED = "SKIP_MEGASCALE_PJRT_CLIENT"
"""A variable that both threads of the loader set and restore, so that it may stay set (2.9.0)."""

ROWS, BATCH = 38, 4  # nine whole batches, and two rows that must not be lost


def on_device(loader, device):
    """Return a loader that sends batches to the device while the previous one is computed."""
    return MpDeviceLoader(loader, device)


def epoch(loader):
    """Return each batch as it arrived; each step adds to a total that stays on the device."""
    batches, total = [], 0
    for (rows,) in loader:
        total = total + rows.sum()
        batches.append(rows)
    return batches


def run():
    """Iterate over 38 numbered rows twice, and leave the environment unchanged."""
    before = {name: os.environ[name] for name in (RACED,) if name in os.environ}
    yield from epochs()
    os.environ.pop(RACED, None)
    os.environ.update(before)


def epochs():
    """Yield findings on the batches, places and steps of each of two epochs."""
    device = torch_xla.device()
    rows = torch.arange(ROWS, dtype=torch.int32)
    expected = rows.split(BATCH)
    own = torch.Generator()  # each epoch draws from it, even where nothing is shuffled
    dataset = torch.utils.data.TensorDataset(rows)
    loader = on_device(DataLoader(dataset, BATCH, generator=own), device)
    for number in (1, 2):
        _counters.finish()
        batches, counts = _counters.counted(lambda: epoch(loader))
        name, missing = f"batches of epoch {number}", lost(batches, expected)
        yield from tally("XLA-INPUT-BATCHES", name, missing, WRAP)
        name = f"batches of epoch {number} on the device"
        placed = sum(batch.device == device for batch in batches)
        yield compare("XLA-INPUT-PLACE", name, placed, len(expected), hint=WRAP)
        name = f"steps that epoch {number} executed"
        yield compare("XLA-INPUT-STEPS", name, counts[_counters.EXECUTED], len(expected), hint=SYNC)


def lost(batches, expected):
    """Describe how each batch differs from the expected one, or return an empty string."""
    found = {f"batch:{n}": str(batch.tolist()) for n, batch in enumerate(batches)}
    right = {f"batch:{n}": str(batch.tolist()) for n, batch in enumerate(expected)}
    return {
        name: "" if found.get(name) == right.get(name) else found.get(name, "missing")
        for name in right | found
    }

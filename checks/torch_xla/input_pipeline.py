"""The loader hands on each batch once, in order."""

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
WRAP = "`MpDeviceLoader(loader, torch_xla.device())` round a DataLoader whose order you know"
SYNC = "iterate over the MpDeviceLoader itself: its `next` calls `torch_xla.sync()`"

ROWS, BATCH = 38, 4
"""38 rows in batches of four: nine whole ones, and two rows that must not be lost."""


def on_device(loader, device):
    """Return a loader that sends batches to the device while the last one is computed with."""
    return MpDeviceLoader(loader, device)


def epoch(loader):
    """Return each batch as it arrived, and a running total that stays on the device."""
    batches, total = [], 0
    for (rows,) in loader:
        total = total + rows.sum()
        batches.append(rows)
    return batches, total


def run():
    """Go through 38 numbered rows twice, and compare batches, places, steps and total."""
    device = torch_xla.device()
    rows = torch.arange(ROWS, dtype=torch.int32)
    expected = rows.split(BATCH)
    loader = on_device(DataLoader(torch.utils.data.TensorDataset(rows), BATCH), device)
    for number in (1, 2):
        _counters.finish()
        (batches, total), counts = _counters.counted(lambda: epoch(loader))
        yield from tally(
            "XLA-INPUT-BATCHES", f"batches of epoch {number}", lost(batches, expected), WRAP
        )
        elsewhere = sum(batch.device != device for batch in batches)
        name = f"batches of epoch {number} not on the device"
        yield compare("XLA-INPUT-PLACE", name, elsewhere, 0, hint=WRAP)
        name = f"steps that epoch {number} executed"
        yield compare("XLA-INPUT-STEPS", name, counts[_counters.EXECUTED], len(expected), hint=SYNC)
        name = f"total of epoch {number}"
        yield compare("XLA-INPUT-TOTAL", name, int(total), int(rows.sum()), hint=WRAP)


def lost(batches, expected):
    """Return for each batch how it differs from the one that should have come then."""
    found = {f"batch:{n}": text_of(batch) for n, batch in enumerate(batches)}
    right = {f"batch:{n}": text_of(batch) for n, batch in enumerate(expected)}
    return {
        name: "" if found.get(name) == right.get(name) else f"rows {found.get(name, 'none')}"
        for name in right | found
    }


def text_of(batch):
    """Return the numbers of a batch as text."""
    return ", ".join(str(number) for number in batch.cpu().tolist())

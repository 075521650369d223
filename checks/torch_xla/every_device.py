"""Every device computes and communicates."""

import numpy as np
import torch
import torch_xla
import torch_xla.core.xla_model as xm

from tpustarter.checks.torch_xla import _launch
from tpustarter.checks.torch_xla._tally import tally
from tpustarter.probe.finding import Hint, compare

FRAMEWORK = "torch_xla"
LEVEL = "full"
NEEDS = {}
TIMEOUT_S = 300
ESTIMATE_S = 16
LESSON = "pytorch/train-on-every-device"
SOURCE = "https://docs.pytorch.org/xla/release/r2.9/learn/pytorch-on-xla-devices.html"
AFTER = ["torch_xla.devices_visible"]
OWN_PROCESS = True
COUNT = Hint.see("env | grep -E 'TPU_|PJRT_'", "shows what hides devices from `torch_xla.launch`")

WIDTH = 128


def own_share(x, y, rank):
    """Return `(x + rank) @ y` for `x, y: float32[w, w]` and `rank: float32[1]`.

    Whole numbers below 256 are exact in bfloat16, and sums of them below 2**24 in float32: at any
    precision there is one right answer, for up to 240 devices.
    """
    return (x + rank) @ y


def total(share):
    """Return the sum of all devices' `share: float32[w, w]`, on each of them."""
    return xm.all_reduce(xm.REDUCE_SUM, share)


def compute(index, share_of, x, y):
    """Return one device's share and the total of all, as NumPy arrays by name."""
    device = torch_xla.device()
    rank = torch.full((1,), float(index)).to(device)  # in memory: all ranks compile one program
    own = share_of(torch.from_numpy(x).to(device), torch.from_numpy(y).to(device), rank)
    results = {"share": own, "total": total(own)}
    _launch.sync_in_turn()
    return {name: tensor.cpu().numpy() for name, tensor in results.items()}


def programs(devices):
    """List one device's share; the total is a collective of several processes."""
    x = torch.empty((WIDTH, WIDTH))
    yield "share", own_share, (x, x, torch.empty(1))


def run():
    """Compare each rank's result with NumPy's integers, then their total."""
    draw = np.random.default_rng(0)
    x = draw.integers(0, 16, (WIDTH, WIDTH)).astype(np.float32)
    y = draw.integers(-8, 9, (WIDTH, WIDTH)).astype(np.float32)
    results = _launch.on_every_device(compute, own_share, x, y)
    world = int(results[min(results)]["world"]) if results else 0
    yield compare(
        "XLA-EVERY-RANKS", "devices that returned a result", len(results), world, hint=COUNT
    )

    lost = {f"device:{rank}": wrong(one["share"], (x + rank) @ y) for rank, one in results.items()}
    yield from tally("XLA-EVERY-SHARE", "devices with the correct result", lost)
    whole = sum(one["share"] for one in results.values())  # of what the devices had
    lost = {f"device:{rank}": wrong(one["total"], whole) for rank, one in results.items()}
    yield from tally("XLA-EVERY-TOTAL", "devices with the exact all-reduce", lost)


def wrong(actual, expected):
    """Describe how an array differs from the expected one, or return an empty string."""
    if actual.shape != expected.shape:
        return f"shape {list(actual.shape)}, expected {list(expected.shape)}"
    count = int((actual != expected).sum())
    return f"{count} of {expected.size} numbers wrong" if count else ""

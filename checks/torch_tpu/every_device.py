"""Every device computes, and the total is exact."""

import numpy as np
import torch
import torch.distributed

from tpustarter.checks.torch_tpu import _ranks
from tpustarter.probe.finding import Finding, compare
from tpustarter.probe.target import target

FRAMEWORK = "torch_tpu"
LEVEL = "quick"
NEEDS = {"platform": "tpu", "devices": 2}
TIMEOUT_S = 300
ESTIMATE_S = 15
LESSON = "pytorch/to-torchtpu"
SOURCE = "https://docs.pytorch.org/docs/stable/distributed.html"
AFTER = ["torch_tpu.accelerator_visible"]
OWN_PROCESS = True

WIDTH = 32
AGAIN = "run this check again; do not trust a device that fails twice"


def share(rank, x, y):
    """Return `(x + rank) @ y` for `x, y: float32[32, 32]` of small whole numbers."""
    return (x + rank) @ y


def total(part):
    """Return the sum of all ranks' `part: float32[32, 32]`."""
    result = part.clone()
    torch.distributed.all_reduce(result)
    return result


def work(rank, count, device, share_function, total_function):
    """Compute this rank's share and the total, and return them with the type of the device."""
    x, y = (torch.from_numpy(array).to(device, copy=True) for array in operands(count)[rank])
    part = share_function(rank, x, y)
    return {
        "share": part.cpu().numpy(),
        "total": total_function(part).cpu().numpy(),
        "kind": np.array(part.device.type),
    }


def operands(count):
    """Return `x` and `y` of each rank, whole numbers that are exact in bfloat16."""
    draw = np.random.default_rng(0)
    return draw.integers(-4, 5, (count, 2, WIDTH, WIDTH)).astype(np.float32)


def run(device="tpu", count=None):
    """Start one process for each device, and compare their results with NumPy's."""
    count = count or target().devices or torch.accelerator.device_count()
    yield Finding("TTPU-EVERY-RANKS", "processes, one for each device", "info", count)
    results = _ranks.on_each_rank(work, count, device, share, total)
    shares = [(x + rank) @ y for rank, (x, y) in enumerate(operands(count))]
    expected = {"share": shares, "total": [sum(shares)] * count}
    for key, name in (
        ("share", "computed the correct product"),
        ("total", "have the exact all-reduce"),
    ):
        pairs = zip(results, expected[key], strict=True)
        right = sum(bool((result[key] == value).all()) for result, value in pairs)
        yield compare(f"TTPU-EVERY-{key.upper()}", f"ranks that {name}", right, count, hint=AGAIN)
    kinds = sorted({str(result["kind"]) for result in results})
    yield compare("TTPU-EVERY-KIND", "devices that they computed on", ", ".join(kinds),
                  torch.device(device).type, hint=AGAIN)  # fmt: skip

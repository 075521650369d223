"""Each device holds its shard, and totals are exact."""

import numpy as np
import torch
import torch_xla.distributed.spmd as xs

from tpustarter.checks.torch_xla import _spmd
from tpustarter.checks.torch_xla._tally import tally
from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 300
ESTIMATE_S = 7
LESSON = "pytorch/train-on-every-device"
SOURCE = "https://docs.pytorch.org/xla/release/r2.9/perf/spmd_basic.html"
AFTER = ["torch_xla.devices_visible"]
OWN_PROCESS = True
HELD = "`torch_xla._XLAC._get_xla_sharding_spec(tensor)` shows how XLA shards a tensor"

ROWS, WIDTH = 4, 64


def sharded(x, mesh):
    """Return `x: float32[n, w]` with its rows sharded over all devices."""
    xs.mark_sharding(x, mesh, ("data", None))
    return x


def replicated(x, mesh):
    """Return `x` with a whole copy on each device."""
    xs.mark_sharding(x, mesh, (None,) * x.dim())
    return x


def product(x, y):
    """Return `x @ y`, for which no device needs the rows of another."""
    return x @ y


def total(x):
    """Return the sum of each column, for which the devices have to communicate."""
    return x.sum(dim=0)


def programs(devices):
    """List the product and the sum of one device's rows."""
    x = torch.empty((ROWS, WIDTH))
    yield "product", product, (x, torch.empty((WIDTH, WIDTH)))
    yield "total", total, (x,)


def run():
    """Compare each device's shard, then a product and a sum, with NumPy's integers.

    Whole numbers up to 8 are exact in bfloat16, and their products and sums in float32.
    """
    with _spmd.all_devices("data") as (device, mesh):
        draw = np.random.default_rng(0)
        x = draw.integers(-8, 9, (ROWS * mesh.size(), WIDTH)).astype(np.float32)
        y = draw.integers(-8, 9, (WIDTH, WIDTH)).astype(np.float32)
        x_on_devices = sharded(torch.from_numpy(x).to(device), mesh)
        y_on_devices = replicated(torch.from_numpy(y).to(device), mesh)
        yield Finding("XLA-SPMD-DEVICES", "devices in the mesh", "info", mesh.size())

        lost = _spmd.rows_lost(_spmd.shards(x_on_devices), x)
        yield from tally("XLA-SPMD-ROWS", "devices that hold their rows", lost, HELD)
        lost = _spmd.copies_lost(_spmd.shards(y_on_devices), y)
        yield from tally("XLA-SPMD-COPIES", "devices with a whole replicated copy", lost, HELD)
        lost = _spmd.rows_lost(_spmd.shards(product(x_on_devices, y_on_devices)), x @ y)
        yield from tally("XLA-SPMD-PRODUCT", "devices with their rows of the product", lost)
        wrong = int((_spmd.whole(total(x_on_devices)) != x.sum(axis=0)).sum())
        yield compare("XLA-SPMD-TOTAL", "wrong sums over all devices", wrong, 0, hint=HELD)

"""all_gather returns shards in device order."""

import jax
import numpy as np

from tpustarter.checks.jax import _collectives
from tpustarter.checks.jax._tally import tally

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.1
LESSON = "jax/collectives"
SOURCE = "https://docs.jax.dev/en/latest/_autosummary/jax.lax.all_gather.html"
AFTER = ["jax.devices_visible"]


def stacked(x, axis):
    """Return all devices' `x: int32[w]` along a new axis."""
    return jax.lax.all_gather(x, "d", axis=axis)


def joined(x):
    """Return all devices' `x: int32[w]` concatenated, as `int32[d * w]`."""
    return jax.lax.all_gather(x, "d", tiled=True)


def gather(x):
    """Return all blocks as rows, as columns and as one row; `x: int32[1, w]`."""
    return stacked(x[0], 0)[None], stacked(x[0], 1)[None], joined(x[0])[None]


def programs(devices):
    """Yield one program for all three: `x: int32[d, w]`, a row for each device."""
    function, x = _collectives.spread(gather, devices)
    yield "gather", function, (x,)


def run():
    """Compare the array that each device gathered with the shards of all devices."""
    devices = jax.local_devices()
    numbers = _collectives.blocks(len(devices))
    named = _collectives.owners(numbers, devices)
    expected = np.broadcast_to(numbers, (len(devices), *numbers.shape))
    outputs = _collectives.execute(programs(devices), numbers)
    rows, columns, row = (_collectives.shard_rows(output, devices) for output in outputs)
    layouts = {
        "STACKED": ("devices with shards in order", rows),
        "COLUMNS": ("devices with shards in order, axis=1", columns.swapaxes(1, 2)),
        "TILED": ("devices with shards in order (tiled)", row.reshape(-1, *numbers.shape)),
    }
    for code, (name, actual) in layouts.items():
        lost = _collectives.wrong(actual, expected, named, devices)
        yield from tally(f"JAX-GATHER-{code}", name, lost)

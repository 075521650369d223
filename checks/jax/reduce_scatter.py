"""psum_scatter gives each device its shard."""

import jax

from tpustarter.checks.jax import _collectives
from tpustarter.checks.jax._tally import tally

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.1
LESSON = "jax/collectives"
SOURCE = "https://docs.jax.dev/en/latest/_autosummary/jax.lax.psum_scatter.html"
AFTER = ["jax.devices_visible"]

ROWS = 2
"""Rows of the sum that each device keeps."""


def kept(x):
    """Return this device's part `int32[rows, w]` of the sum of `x: int32[d, rows, w]`."""
    return jax.lax.psum_scatter(x, "d")


def kept_tiled(x):
    """Return this device's rows `int32[rows, w]` of the sum of `x: int32[d * rows, w]`."""
    return jax.lax.psum_scatter(x, "d", tiled=True)


def kept_columns(x):
    """Return this device's columns `int32[w, rows]` of the sum of `x: int32[w, d * rows]`."""
    return jax.lax.psum_scatter(x, "d", scatter_dimension=1, tiled=True)


def scatter_sums(x):
    """Return the shard that a device keeps in each layout; `x: int32[1, d * rows, w]`."""
    flat = x[0]
    apart = flat.reshape(-1, ROWS, flat.shape[-1])
    return kept(apart)[None], kept_tiled(flat)[None], kept_columns(flat.T)[None]


def programs(devices):
    """Yield one program for all layouts: `x: int32[d, d * rows, w]`, a block for each device."""
    function, x = _collectives.spread(scatter_sums, devices, ROWS * len(devices))
    yield "scatter_sums", function, (x,)


def run():
    """Compare the shard that each device kept with its rows of NumPy's sum."""
    devices = jax.local_devices()
    numbers = _collectives.blocks(len(devices), ROWS * len(devices))
    sums = numbers.sum(0).reshape(len(devices), ROWS, -1)
    named = _collectives.owners(sums, devices) | _collectives.owners(numbers, devices)
    outputs = _collectives.execute(programs(devices), numbers)
    rows, tiled, columns = (_collectives.shard_rows(output, devices) for output in outputs)
    layouts = {
        "STACKED": ("devices with the correct shard", rows),
        "TILED": ("devices with the correct rows (tiled)", tiled),
        "COLUMNS": ("devices with the correct columns (tiled)", columns.swapaxes(1, 2)),
    }
    for code, (name, actual) in layouts.items():
        lost = _collectives.wrong(actual, sums, named, devices)
        yield from tally(f"JAX-SCATTER-{code}", name, lost)

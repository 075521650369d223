"""Collectives over all hosts are exact."""

import jax
import numpy as np

from tpustarter.checks.jax import _collectives, _ring, _slices
from tpustarter.checks.jax._tally import tally

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {"hosts": 2}
TIMEOUT_S = 180
ESTIMATE_S = 0.4
LESSON = "slices/distributed"
SOURCE = "https://docs.jax.dev/en/latest/notebooks/shard_map.html"
AFTER = ["jax.slice_program"]

NAMES = {
    "PSUM": "devices with the exact sum over all hosts (psum)",
    "GATHER": "devices with all rows in order (all_gather)",
    "EXCHANGE": "devices with the right blocks (all_to_all)",
    "SCATTER": "devices with their row of the sum (psum_scatter)",
    "PERMUTE": "devices reached by the one before (ppermute)",
}


def total(x):
    """Return the sum of all devices' `x: int32[1, w]`."""
    return jax.lax.psum(x, "d")


def gathered(x):
    """Return all devices' `x: int32[w]` as rows."""
    return jax.lax.all_gather(x, "d")


def exchanged(x):
    """Return row `place` of each device's `x: int32[d, w]`."""
    return jax.lax.all_to_all(x, "d", split_axis=0, concat_axis=0)


def scattered(x):
    """Return this device's row of the sum of all devices' `x: int32[d, w]`."""
    return jax.lax.psum_scatter(x, "d")


def programs(devices):
    """Yield one program for all: `x: int32[d, d, w]`, a block of d rows for each device."""

    def over_all_hosts(x):
        row = x[0, :1]
        apart = gathered(row[0])[None], exchanged(x[0])[None], scattered(x[0])[None]
        return total(row), *apart, _ring.from_before(row, len(devices))

    function, x = _collectives.spread(over_all_hosts, devices, len(devices))
    yield "over_all_hosts", function, (x,)


def run():
    """Compare the rows that this host's devices received with NumPy's."""
    count = len(devices := jax.devices())
    numbers = _collectives.blocks(count, count)
    rows, sums = numbers[:, 0], numbers.sum(0, dtype=np.int32)
    right = (
        np.broadcast_to(sums[:1], (count, *sums[:1].shape)),
        np.broadcast_to(rows, (count, *rows.shape)),
        numbers.swapaxes(0, 1),
        sums[:, None],
        np.roll(rows, 1, axis=0)[:, None],
    )
    named = _collectives.owners(numbers, devices) | _collectives.owners(rows, devices)
    outputs = _slices.execute(programs(devices), numbers)
    for (code, name), output, expected in zip(NAMES.items(), outputs, right, strict=True):
        lost = _slices.wrong(output, expected, named, devices)
        yield from tally(f"SLICE-{code}-EXACT", name, lost)

"""All-reduce is exact on every device."""

import jax
import jax.numpy as jnp
import numpy as np

from tpustarter.checks.jax import _collectives
from tpustarter.checks.jax._tally import tally

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.1
LESSON = "jax/every-device"
SOURCE = "https://docs.jax.dev/en/latest/_autosummary/jax.lax.psum.html"
AFTER = ["jax.devices_visible"]

SMALL = 4095
"""256 whole numbers up to this add up exactly in float32, in any order."""

NAMES = {
    "SUM": "devices with the exact sum (psum)",
    "FLOAT": "devices with the exact float32 sum",
    "LARGEST": "devices with the exact maximum (pmax)",
    "SMALLEST": "devices with the exact minimum (pmin)",
}


def total(x):
    """Return the sum of all devices' `x: [1, w]`, on each of them."""
    return jax.lax.psum(x, "d")


def extremes(x):
    """Return the largest and the smallest of all devices' `x: int32[1, w]`, number by number."""
    return jax.lax.pmax(x, "d"), jax.lax.pmin(x, "d")


def reduce_all(x):
    """Return sum, float32 sum, largest and smallest of all devices' `x: int32[1, w]`."""
    floats = total((x & SMALL).astype(jnp.float32))
    return total(x), floats.astype(jnp.int32), *extremes(x)


def programs(devices):
    """Yield one program for all reductions: `x: int32[d, w]`, a row for each device."""
    function, x = _collectives.spread(reduce_all, devices)
    yield "reduce_all", function, (x,)


def run():
    """Compare each device's copy of each total with NumPy's."""
    devices = jax.local_devices()
    numbers = _collectives.blocks(len(devices))
    small = numbers & SMALL
    sums = {"SUM": numbers, "FLOAT": small}
    totals = [numbers.sum(0), small.sum(0), numbers.max(0), numbers.min(0)]
    outputs = _collectives.execute(programs(devices), numbers)
    for code, output, expected in zip(NAMES, outputs, totals, strict=True):
        actual = _collectives.shard_rows(output, devices)[:, None]
        everywhere = np.broadcast_to(expected, actual.shape)
        named = _collectives.owners(sums.get(code, numbers), devices)
        lost = _collectives.wrong(actual, everywhere, named, devices)
        yield from tally(f"JAX-REDUCE-{code}", NAMES[code], lost)

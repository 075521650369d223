"""all_to_all routes every block correctly."""

import jax

from tpustarter.checks.jax import _collectives
from tpustarter.checks.jax._tally import tally

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.5
LESSON = "jax/collectives"
SOURCE = "https://docs.jax.dev/en/latest/_autosummary/jax.lax.all_to_all.html"
AFTER = ["jax.devices_visible"]


def stacked(x):
    """Return row `place` of each device's `x: int32[d, w]`, as rows."""
    return jax.lax.all_to_all(x, "d", split_axis=0, concat_axis=0)


def joined(x):
    """Return row `place` of each device's `x: int32[d, w]`, as one row `int32[1, d * w]`."""
    return jax.lax.all_to_all(x, "d", split_axis=0, concat_axis=1, tiled=True)


def exchange(x):
    """Return the blocks that a device receives, in both layouts; `x: int32[1, d, w]`."""
    return stacked(x[0])[None], joined(x[0])[None]


def programs(devices):
    """Yield one program for both: `x: int32[d, d, w]`, where row j of sheet i goes from i to j."""
    function, x = _collectives.spread(exchange, devices, len(devices))
    yield "exchange", function, (x,)


def run():
    """Compare the blocks that each device received with those sent to it."""
    devices = jax.local_devices()
    numbers = _collectives.blocks(len(devices), len(devices))
    named = _collectives.owners(numbers, devices)
    outputs = _collectives.execute(programs(devices), numbers)
    rows, row = (_collectives.shard_rows(output, devices) for output in outputs)
    layouts = {
        "STACKED": ("devices with the right blocks (stacked)", rows),
        "TILED": ("devices with the right blocks (tiled)", row.reshape(numbers.shape)),
    }
    for code, (name, actual) in layouts.items():
        lost = _collectives.wrong(actual, numbers.swapaxes(0, 1), named, devices)
        yield from tally(f"JAX-EXCHANGE-{code}", name, lost)

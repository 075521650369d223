"""ppermute delivers each block to its target."""

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
SOURCE = "https://docs.jax.dev/en/latest/_autosummary/jax.lax.ppermute.html"
AFTER = ["jax.devices_visible"]

ROUTES = {
    "NEXT": "devices reached by the previous one",
    "PREVIOUS": "devices reached by the next one",
    "ACROSS": "devices reached by the mirrored one",
    "ONE": "devices correct after a single send",
}


def routes(count):
    """Return pairs of sender and receiver, in the order of `ROUTES`, as indices of devices."""
    places = range(count)
    return (
        [(index, (index + 1) % count) for index in places],
        [((index + 1) % count, index) for index in places],
        [(index, count - 1 - index) for index in places],
        [(0, count - 1)],
    )


def send(x, route):
    """Return the `x: int32[1, w]` that this device receives; zeros if no device sends to it."""
    return jax.lax.ppermute(x, "d", route)


def programs(devices):
    """Yield one program for all routes: `x: int32[d, w]`, a row for each device."""

    def send_all(x):
        return tuple(send(x, route) for route in routes(len(devices)))

    function, x = _collectives.spread(send_all, devices)
    yield "send_all", function, (x,)


def run():
    """Compare the rows that each device received with the rows of the sender."""
    devices = jax.local_devices()
    numbers = _collectives.blocks(len(devices))
    named = _collectives.owners(numbers, devices)
    outputs = _collectives.execute(programs(devices), numbers)
    alone = np.zeros_like(numbers)
    alone[-1] = numbers[0]
    right = (np.roll(numbers, 1, axis=0), np.roll(numbers, -1, axis=0), numbers[::-1], alone)
    for (code, name), output, expected in zip(ROUTES.items(), outputs, right, strict=True):
        actual = _collectives.shard_rows(output, devices)
        lost = _collectives.wrong(actual[:, None], expected[:, None], named, devices)
        yield from tally(f"JAX-PERMUTE-{code}", name, lost)

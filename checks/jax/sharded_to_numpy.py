"""Sharded arrays convert to NumPy unchanged."""

import jax
import numpy as np

from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._spread import WAYS, difference, shardings
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.2
LESSON = "jax/every-device"
SOURCE = "https://docs.jax.dev/en/latest/_autosummary/jax.make_array_from_callback.html"
AFTER = ["jax.devices_visible"]

PAD = "make the axis a multiple of the number of devices, or pad it"


def turned(x):
    """Return the transpose of `x: int32[2 d, 3 d]`, which requires communication."""
    return x.T


def programs(devices):
    """Yield the transpose of an array for each sharding."""
    for name, sharding in shardings(devices).items():
        shape = (2 * len(devices), 3 * len(devices))
        yield name, turned, (jax.ShapeDtypeStruct(shape, np.int32, sharding=sharding),)


@with_defaults
def run():
    """Shard an array in each way, and compare each shard, the whole array, and its transpose."""
    devices, program = jax.local_devices(), jax.jit(turned)
    count, parts, back = len(devices), {}, {}
    numbers = np.arange(6 * count * count, dtype=np.int32).reshape(2 * count, 3 * count)
    for name, sharding in shardings(devices).items():
        for way, spread in WAYS.items():
            parts[f"sharding:{name}, {way}"] = difference(numbers, spread(numbers, sharding), count)
        actual = np.asarray(program(jax.device_put(numbers, sharding)))
        wrong = actual.shape != numbers.T.shape or (actual != numbers.T).any()
        back[f"sharding:{name}"] = "other numbers" if wrong else ""
    yield from tally("JAX-SHARDED-PARTS", "shardings that round-trip", parts)
    yield from tally("JAX-SHARDED-TURNED", "shardings correct after a computation", back)

    if count > 1:
        uneven = np.zeros(count + 1, np.int32)
        try:
            jax.device_put(uneven, shardings(devices)["rows"])
            actual = "is spread"
        except ValueError:
            actual = "is refused"
        name = f"an axis of {count + 1} over {count} devices"
        hint = PAD if actual == "is refused" else None
        yield Finding("JAX-SHARDED-UNEVEN", name, "info", actual, hint=hint)

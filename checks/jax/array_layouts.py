"""Transfers preserve every layout and size."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax import _layouts
from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._tally import AGAIN, tally
from tpustarter.probe.finding import compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 1
LESSON = "jax/array-conversion"
SOURCE = "https://docs.jax.dev/en/latest/_autosummary/jax.device_put.html"
AFTER = ["jax.devices_visible"]

LARGE = (4096, 4096)
"""Shape of 64 MiB of `uint32`."""


def to_device(array):
    """Return a NumPy array of any shape and memory order on the first device."""
    return jax.device_put(array, jax.local_devices()[0])


def to_numpy(array):
    """Return a JAX array of any shape as a NumPy array."""
    return np.asarray(array)


def fingerprint(x):
    """Return the sum of each number times its place, modulo 2**32, of `x: uint32[...]`.

    Two numbers that changed places change it, so the device says what it holds where.
    """
    place = jax.lax.iota(np.uint32, x.size).reshape(x.shape)
    return jnp.sum(x * (2 * place + 1), dtype=np.uint32)


def expected_fingerprint(array):
    """Return the expected result of `fingerprint`, computed by NumPy."""
    return int(np.dot(array.ravel(), np.arange(1, 2 * array.size, 2, dtype=np.uint32)))


def programs(devices):
    """Yield the fingerprint for each shape that is sent."""
    sharding = SingleDeviceSharding(devices[0])
    for name, shape in {**_layouts.SHAPES, "64 MiB": LARGE}.items():
        x = jax.ShapeDtypeStruct(shape, np.uint32, sharding=sharding)
        yield f"fingerprint of {name}", fingerprint, (x,)


@with_defaults
def run():
    """Fingerprint each layout and size on the device, and compare the array that comes back."""
    ask = jax.jit(fingerprint)
    arrays = _layouts.arrays("uint32")
    fingerprints = {name: int(ask(to_device(array))) for name, array in arrays.items()}
    lost = {f"layout:{name}": _layouts.mismatch(fingerprints[name], expected_fingerprint(array))
            for name, array in arrays.items()}  # fmt: skip
    yield from tally("JAX-LAYOUT-DEVICE", "memory layouts that transfer intact", lost)

    back = {f"layout:{layout}, {dtype}": _layouts.changed(array, to_numpy(to_device(array)))
            for dtype in _layouts.DTYPES
            for layout, array in _layouts.arrays(dtype).items()}  # fmt: skip
    yield from tally("JAX-LAYOUT-BACK", "layouts and dtypes that round-trip", back)

    large = np.arange(LARGE[0] * LARGE[1], dtype=np.uint32).reshape(LARGE) * np.uint32(2654435761)
    sent = to_device(large)
    actual, name = int(ask(sent)), "fingerprint of 64 MiB on the device"
    yield compare("JAX-LAYOUT-LARGE", name, actual, expected_fingerprint(large), hint=AGAIN)
    actual, name = _layouts.changed(large, to_numpy(sent)) or "intact", "64 MiB after a round trip"
    yield compare("JAX-LAYOUT-LARGE-BACK", name, actual, "intact", hint=AGAIN)

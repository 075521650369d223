"""NumPy round trips preserve every bit."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax import _arrays
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 1
LESSON = "jax/array-conversion"
SOURCE = "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.asarray.html"
AFTER = ["jax.devices_visible"]

SWAPPED = ("refused by JAX", "call `x.astype(x.dtype.newbyteorder('='))` before converting")


def to_jax(array):
    """Return a NumPy array of any shape as a JAX array on the default device."""
    with jax.debug_nans(new_val=False), jax.debug_infs(new_val=False):  # sent on purpose
        return jax.block_until_ready(jnp.asarray(array))


def to_numpy(array):
    """Return a JAX array of any shape as a NumPy array."""
    return np.asarray(array)


def bits_on_device(*arrays):
    """Return the bits of arrays on the device, as unsigned integers; `[1024]` of each of `CORE`."""
    return tuple(_arrays.device_bits(array) for array in arrays)


def programs(devices):
    """Yield the program that reads the bits of every core type where the device has them."""
    sharding = SingleDeviceSharding(devices[0])
    samples = map(_arrays.ordinary, _arrays.CORE)
    arrays = [jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding) for x in samples]
    yield "bits_on_device", bits_on_device, tuple(arrays)


def run():
    """Send every dtype, bit pattern and kind of shape to the device and back."""
    lost = {}
    for name in _arrays.names():
        entity, (text, refusal) = f"dtype:{name}", attempt(name)
        if refusal:
            actual, hint = SWAPPED if name == _arrays.SWAPPED else (f"refused: {refusal}", None)
            yield Finding("JAX-CONVERT-REFUSED", name, "info", actual, entity=entity, hint=hint)
        else:
            lost[entity] = text
    yield from tally("JAX-CONVERT-DTYPE", "dtypes that round-trip", lost)
    lost = {f"shape:{name}": travel(array) for name, array in _arrays.shapes().items()}
    yield from tally("JAX-CONVERT-SHAPE", "shapes that round-trip", lost)

    sent = {f"dtype:{name}": _arrays.ordinary(name) for name in _arrays.CORE}
    bits = map(to_numpy, jax.jit(bits_on_device)(*map(to_jax, sent.values())))
    lost = {name: _arrays.difference(_arrays.bits(sent[name]), next(bits)) for name in sent}
    yield from tally("JAX-CONVERT-DEVICE", "dtypes the device stores bit for bit", lost)


def travel(array):
    """Describe how an array differs after a round trip, or return an empty string."""
    return _arrays.difference(array, to_numpy(to_jax(array)))


def attempt(name):
    """Describe how a type differs after a round trip, and the refusal of an optional type."""
    try:
        return travel(_arrays.patterns(name)), ""
    except _arrays.REFUSALS as refusal:
        if name in _arrays.CORE:
            raise
        return "", str(refusal.__cause__ or refusal).partition("\n")[0][:120]

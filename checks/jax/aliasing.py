"""Copies never alias, and views are read-only."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax._tally import AGAIN
from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.1
LESSON = "jax/array-conversion"
SOURCE = "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.array.html"
AFTER = ["jax.devices_visible"]

COPY = "`np.array(x)` is a copy that can be written to"
KEEP = "do not write to a NumPy array after passing it to JAX, or pass `a.copy()`"


def copied_to_jax(array):
    """Return a NumPy array as a JAX array that shares nothing with it."""
    return jnp.array(array)


def copied_to_numpy(array):
    """Return a JAX array as a NumPy array that shares nothing with it."""
    return np.array(array)


def set_first(x):
    """Return a copy of `x: float32[1024]` whose first number is 42."""
    return x.at[0].set(42)


def programs(devices):
    """Yield the update that must leave its argument as it was."""
    x = jax.ShapeDtypeStruct((1024,), np.float32, sharding=SingleDeviceSharding(devices[0]))
    yield "set_first", set_first, (x,)


def run():
    """Write to each copy, and check whether the other array changed."""
    x = jax.device_put(np.zeros(1024, np.float32), jax.local_devices()[0])
    view = "writable" if np.asarray(x).flags.writeable else "read-only"
    yield compare("JAX-ALIAS-VIEW", "np.asarray(x)", view, "read-only", hint=COPY)

    copied_to_numpy(x)[0] = 42
    name = "x[0] after writing 42 to np.array(x)"
    yield compare("JAX-ALIAS-COPY", name, first(x), 0.0, hint=AGAIN)

    y = jax.jit(set_first)(x)
    actual, name = f"{first(x)} and {first(y)}", "x[0] and y[0] after y = x.at[0].set(42)"
    yield compare("JAX-ALIAS-UPDATE", name, actual, "0.0 and 42.0", hint=AGAIN)

    actual, name = after_writing(copied_to_jax), "x[0] after x = jnp.array(a); a[0] = 42"
    yield compare("JAX-ALIAS-ARRAY", name, actual, 0.0, hint=AGAIN)
    for name, convert in (("jnp.asarray", jnp.asarray), ("jax.device_put", jax.device_put)):
        code = f"JAX-ALIAS-{convert.__name__.upper().replace('_', '-')}"
        actual = "shares the memory of a" if after_writing(convert) else "copies a"
        yield Finding(code, f"{name}(a)", "info", actual, hint=KEEP)


def first(x):
    """Return the first number of a JAX array, read without keeping a NumPy view of it."""
    return float(np.array(x)[0])


def after_writing(convert):
    """Return a JAX array's first number after writing 42 to the NumPy array it was made from."""
    bytes_ = np.zeros(4096 + 64, np.uint8)
    start = -bytes_.ctypes.data % 64  # a CPU device shares memory that starts at such a boundary
    array = bytes_[start : start + 4096].view(np.float32)
    x = jax.block_until_ready(convert(array))
    array[0] = 42
    return first(x)

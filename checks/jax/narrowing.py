"""64-bit types narrow only as documented."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax import _arrays
from tpustarter.checks.jax._tally import AGAIN, tally
from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.2
LESSON = "jax/64-bit"
SOURCE = "https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html"
AFTER = ["jax.devices_visible"]
X64 = "`JAX_ENABLE_X64=1` keeps 64 bits, which is slow on a TPU"
FITS = "use `assert np.abs(x).max() < 2**31` before converting, or run with `JAX_ENABLE_X64=1`"


def add_one(x):
    """Return `x + 1` for `x: int32[8]`."""
    return x + 1


def programs(devices):
    """Yield the addition that shows the overflow of 32-bit integers."""
    x = jax.ShapeDtypeStruct((8,), np.int32, sharding=SingleDeviceSharding(devices[0]))
    yield "add_one", add_one, (x,)


def convert(numbers, dtype=None):
    """Return numbers as a NumPy array, after conversion by JAX, and the count of warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return np.asarray(jnp.asarray(numbers, dtype)), len(caught)


def run():
    """Convert each 64-bit type in range, then what does not fit, then count past the end."""
    wide = jax.config.values["jax_enable_x64"]
    keep, fits = (None, None) if wide else (X64, FITS)  # nothing is to be done where 64 bits stay
    yield Finding("JAX-NARROWING-X64", "64-bit types", "info", "on" if wide else "off", hint=keep)
    lost = {f"dtype:{name}": difference(name, wide) for name in _arrays.NARROW}
    yield from tally("JAX-NARROWING-DTYPE", "dtypes as wide as documented", lost)
    yield from too_large(wide, fits)
    array, warned = convert([1.0], "float64")
    actual = f"{array.dtype}, {warned} warning{'s' * (warned != 1)}"
    yield Finding("JAX-NARROWING-ASKED", "requesting float64 gives", "info", actual, hint=keep)
    last = int(jax.jit(add_one)(np.full(8, 2**31 - 1, np.int32))[0])
    yield Finding("JAX-NARROWING-END", "int32 2**31 - 1 plus 1", "info", last, hint=fits)


def difference(name, wide):
    """Describe how numbers of a 64-bit type differ from NumPy's, or return an empty string."""
    numbers = np.array(_arrays.IN_RANGE[name], name)
    expected = numbers.astype(_arrays.NARROW[name])
    if wide:
        numbers = expected = expected.astype(name)  # a TPU holds no whole float64
    return _arrays.difference(expected, convert(numbers)[0])


def too_large(wide, fits):
    """Convert 41 bits, of which the low 32 are 7, from NumPy, which hides that, and from Python."""
    big = 2**40 + 7
    array, warned = convert(np.array([big]))
    actual, expected = int(array[0]), big if wide else 7 if _arrays.WRAPS else "OverflowError"
    verdict, hint = ("info", fits) if actual in (big, big if wide else 7) else ("fail", AGAIN)
    yield Finding("JAX-NARROWING-NUMPY-INT", "2**40 + 7 from NumPy", verdict, actual, hint=hint)
    yield Finding("JAX-NARROWING-SILENT", "warnings about it", "info", warned, hint=fits)
    try:
        actual = int(convert([big])[0][0])
    except OverflowError:
        actual = "OverflowError"
    yield compare("JAX-NARROWING-PYTHON-INT", "2**40 + 7 from Python", actual, expected, hint=AGAIN)

"""Each dtype multiplies integers exactly."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax import _matmul_types
from tpustarter.checks.jax._tally import AGAIN, tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 1
LESSON = "jax/precision"
SOURCE = "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.matmul.html"
AFTER = ["jax.devices_visible"]

LIMIT = _matmul_types.TERMS * 2**-23
"""Largest error of 2048 sums in float32, in any order and however rounded, for `|x| @ |y|` = 1.

Source: Higham, Accuracy and Stability of Numerical Algorithms, 3.1, with twice the unit roundoff.
"""
OTHER = "not applicable: this device would have to convert it"


def multiply_floats(x, y):
    """Return `x @ y` with sums in float32; `x: [32, 2048]`, `y: [2048, 32]` of one type."""
    return jnp.matmul(x, y, precision="default", preferred_element_type=jnp.float32)


def multiply_integers(x, y):
    """Return `x @ y` with sums in int32; `x: [32, 2048]`, `y: [2048, 32]` of one type."""
    return jnp.matmul(x, y, precision="default", preferred_element_type=jnp.int32)


def programs(devices):
    """Yield a product for each type that the first device multiplies without a cast."""
    sharding = SingleDeviceSharding(devices[0])
    functions = {"float32": multiply_floats, "int32": multiply_integers}
    for name in _matmul_types.native(devices[0]):
        dtype, rows, terms = _matmul_types.dtype(name), _matmul_types.ROWS, _matmul_types.TERMS
        x = jax.ShapeDtypeStruct((rows, terms), dtype, sharding=sharding)
        y = jax.ShapeDtypeStruct((terms, rows), dtype, sharding=sharding)
        yield name, functions[_matmul_types.TYPES[name][0]], (x, y)


def run():
    """Multiply whole numbers, which must be exact, then any numbers of the short types."""
    device = jax.local_devices()[0]
    lost, errors = {}, {}
    for name, function, _ in programs([device]):
        multiply, pair = jax.jit(function), _matmul_types.whole(name)
        actual = multiply(*jax.device_put(pair, device))
        lost[f"dtype:{name}"] = _matmul_types.difference(actual, _matmul_types.product(pair)[0])
        if function is multiply_floats and name != "float32":
            errors[name] = largest_error(multiply, _matmul_types.normal(name), device)
    yield from tally("JAX-MATMUL-EXACT", "dtypes that multiply integers exactly", lost)
    for name, error in errors.items():
        what, actual, entity = f"error of {name} sums", float(f"{error:.2g}"), f"dtype:{name}"
        verdict, hint = ("ok", None) if error <= LIMIT else ("fail", AGAIN)
        limit = f"at most {LIMIT:.1e}"
        yield Finding("JAX-MATMUL-SUMS", what, verdict, actual, limit, entity=entity, hint=hint)
    for name in _matmul_types.TYPES:
        if f"dtype:{name}" not in lost:
            yield Finding("JAX-MATMUL-NATIVE", name, "info", OTHER, entity=f"dtype:{name}")


def largest_error(multiply, pair, device):
    """Return the largest `|actual - x y| / |x| |y|` of any element; NaN where one is."""
    exact, most = _matmul_types.product(pair)
    actual = np.asarray(multiply(*jax.device_put(pair, device)), np.float64)
    return float((np.abs(actual - exact) / most).max())

"""NaN and infinity propagate correctly."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax import _special
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.2
LESSON = "jax/precision"
SOURCE = "https://openxla.org/stablehlo/spec"
AFTER = ["jax.devices_visible"]

GUARD = "test `jnp.isfinite(x).all()` before the product, at any precision"


def propagate(x):
    """Return the operations that `_special` lists on `x: float32[128, 128]`."""
    return _special.inside(jnp, x)


def multiply_default(x, y):
    """Return `x @ y` at the default precision; `x, y: float32[128, 128]`."""
    return jnp.matmul(x, y)


def multiply_highest(x, y):
    """Return `x @ y` at the highest precision; `x, y: float32[128, 128]`."""
    return jnp.matmul(x, y, precision="highest")


def programs(devices):
    """Yield the operations, and products at two precisions."""
    shape = (_special.SIZE, _special.SIZE)
    x = jax.ShapeDtypeStruct(shape, np.float32, sharding=SingleDeviceSharding(devices[0]))
    yield "propagate", propagate, (x,)
    yield "multiply_default", multiply_default, (x, x)
    yield "multiply_highest", multiply_highest, (x, x)


def run():
    """Compare each operation with NumPy, then check that no product hides NaN or infinity."""
    x, device = _special.special(), jax.local_devices()[0]
    with np.errstate(all="ignore"):
        expected = _special.inside(np, x)
    with jax.debug_nans(new_val=False), jax.debug_infs(new_val=False):  # made on purpose
        actual = jax.device_get(jax.jit(propagate)(jax.device_put(x, device)))
        pair = jax.device_put((x, np.ones_like(x)), device)
        functions = {"default": multiply_default, "highest": multiply_highest}
        products = {name: np.asarray(jax.jit(f)(*pair)) for name, f in functions.items()}

    lost = {
        f"operation:{name}": _special.difference(actual[name], expected[name]) for name in expected
    }
    yield from tally("JAX-SPECIAL-OPERATION", "operations that keep NaN and infinity", lost)
    lost = {
        f"precision:{name}": _special.spoilt(products[name], expected["sum"]) for name in products
    }
    yield from tally("JAX-SPECIAL-MATMUL", "precisions whose matmul keeps them", lost)
    for name, product in products.items():
        actual, what = str(product[2, 0]), f"infinity in a product, {name} precision"
        hint = None if actual == "inf" else GUARD
        yield Finding("JAX-SPECIAL-INFINITY", what, "info", actual, hint=hint)

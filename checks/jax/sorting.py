"""Sorting is stable and puts NaN last."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax._tally import AGAIN, tally

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.5
LESSON = "jax/first-arrays"
SOURCE = "https://docs.jax.dev/en/latest/_autosummary/jax.lax.sort.html"
AFTER = ["jax.devices_visible"]

SIZE = 1000
TOP = 100
ORDERS = ("argsort", "sort", "argsort, descending", "top_k", "places of top_k")
TYPES = ("float32", "bfloat16", "int32", "uint8")


def order(*arrays):
    """Return the order of each array both ways, and more; arrays `[1000]` of `TYPES`."""
    return [orders(x, jnp.where(jnp.isnan(x), 0, x)) for x in arrays]


def orders(x, number):
    """Return the sorted orders and values to compare; `number` is `x` with zeros for NaN."""
    up, down = (jnp.argsort(x, stable=True), jnp.argsort(number, stable=True, descending=True))
    return dict(zip(ORDERS, (up, jnp.sort(x), down, *jax.lax.top_k(number, TOP)), strict=True))


def programs(devices):
    """Yield one program for all types."""
    sharding = SingleDeviceSharding(devices[0])
    types = [np.dtype(getattr(jnp, name)) for name in TYPES]
    yield "order", order, tuple(jax.ShapeDtypeStruct((SIZE,), t, sharding=sharding) for t in types)


def run():
    """Sort numbers with many ties, both zeros, infinities and NaN, and compare with NumPy."""
    numbers = [draw(name) for name in TYPES]
    with jax.debug_nans(new_val=False), jax.debug_infs(new_val=False):  # sent on purpose
        results = jax.device_get(jax.jit(order)(*jax.device_put(numbers, jax.local_devices()[0])))
    lost = {}
    for name, x, result in zip(TYPES, numbers, results, strict=True):
        right = expected(x)
        wrong = [what for what in right if not equal(result[what], right[what])]
        lost[f"dtype:{name}"] = f"wrong: {', '.join(wrong)}" if wrong else ""
    yield from tally("JAX-SORT-TYPE", "dtypes sorted as in NumPy", lost, AGAIN)


def draw(name):
    """Return 1000 numbers of a type, each many times; of floats also -0, infinities and NaN."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 100, SIZE)
    if name in ("float32", "bfloat16"):
        x = x - 50 + rng.choice([0.0, 0.5], SIZE)
        x[rng.permutation(SIZE)[:100]] = np.repeat([np.nan, np.inf, -np.inf, 0.0, -0.0], 20)
    return x.astype(getattr(jnp, name))


def expected(x):
    """Return NumPy's results for `orders` on `x: [1000]`, with stable ties."""
    values = x.astype(np.float64)
    up = np.argsort(values, kind="stable")
    down = np.argsort(-np.where(np.isnan(values), 0, values), kind="stable")
    top = down[:TOP]
    right = (up, values[up], down, values[top], top)
    return dict(zip(ORDERS, right, strict=True))


def equal(actual, expected):
    """Return whether two arrays hold the same numbers; all NaNs count as equal."""
    return np.array_equal(np.float64(actual), np.float64(expected), equal_nan=True)

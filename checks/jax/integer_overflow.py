"""Integer overflow wraps as in NumPy."""

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 1
LESSON = "jax/64-bit"
SOURCE = "https://numpy.org/doc/stable/user/basics.types.html"
AFTER = ["jax.devices_visible"]

OPERATIONS = ("x + y", "x - y", "x * y", "-x", "x // y", "x % y", "x << n", "x >> n", "x ^ y", "~x")
TYPES = ("int8", "uint8", "int32", "uint32")
CLIP = "`jnp.clip(x, 0, 255).astype(jnp.uint8)` gives the same result on every backend"
LEFT = (  # what `leave` returns
    ("JAX-INTEGER-DIVIDE", "7 / 0 and -2**31 / -1 in int32", "test `y == 0` before you divide"),
    ("JAX-INTEGER-SHIFT", "7 << 32 and -2**31 << 33 in int32", "shift by less than 32 bits"),
    ("JAX-INTEGER-INT32", "300., -1., NaN and infinity as int32", "test `jnp.isfinite(x)` first"),
    ("JAX-INTEGER-UINT8", "300., -1., NaN and infinity as uint8", CLIP),
)


def compute(x, y, bits):
    """Return the results of defined operations on `x, y, bits` of one type, for NumPy and JAX."""
    quotient, remainder = x // (y | 1), x % (y | 1)
    return x + y, x - y, x * y, -x, quotient, remainder, x << bits, x >> bits, x ^ y, ~x


def wrap(*arrays):
    """Return the operations for each type; `x, y, bits: [81]` of each of `TYPES`."""
    triples = zip(arrays[::3], arrays[1::3], arrays[2::3], strict=True)
    return [compute(*triple) for triple in triples]


def leave(x, y, bits, z):
    """Return the results of undefined operations: `x, y, bits: int32[2]`, `z: float32[4]`."""
    return jax.lax.div(x, y), x << bits, z.astype(np.int32), z.astype(np.uint8)


def programs(devices):
    """Yield the operations that wrap, and those whose result depends on the backend."""
    sharding = SingleDeviceSharding(devices[0])
    triples = [((81,), kind) for kind in TYPES for _ in range(3)]
    edges = [((2,), "int32")] * 3 + [((4,), "float32")]
    for function, arrays in ((wrap, triples), (leave, edges)):
        shapes = (jax.ShapeDtypeStruct(n, np.dtype(t), sharding=sharding) for n, t in arrays)
        yield function.__name__, function, tuple(shapes)


def run():
    """Compare every dtype at its limits with NumPy, then report backend-dependent results."""
    device, sent = jax.local_devices()[0], [array for dtype in TYPES for array in ends(dtype)]
    results, lost = jax.jit(wrap)(*jax.device_put(sent, device)), {}
    for index, dtype in enumerate(TYPES):
        references = compute(*sent[3 * index : 3 * index + 3])
        pairs = zip(OPERATIONS, results[index], references, strict=True)
        wrong = [name for name, actual, expected in pairs if not np.array_equal(actual, expected)]
        lost[f"dtype:{dtype}"] = f"wrong: {', '.join(wrong)}" if wrong else ""
    yield from tally("JAX-INTEGER-WRAP", "integer types that wrap as in NumPy", lost)

    whole, shift = np.array([[7, -(2**31)], [0, -1]], "i4"), np.array([32, 33], "i4")
    sent = (*whole, shift, np.array([300, -1, np.nan, np.inf], "f4"))
    results = jax.jit(leave)(*jax.device_put(sent, device))
    for (code, name, hint), values in zip(LEFT, results, strict=True):
        yield Finding(code, name, "info", ", ".join(map(str, np.asarray(values))), hint=hint)


def ends(dtype):
    """Return every pair of nine numbers at both ends of a type and round zero, and shifts."""
    least, most, bits = np.iinfo(dtype).min, np.iinfo(dtype).max, np.iinfo(dtype).bits
    few = np.array([least, least + 1, least + 2, most // 3, most // 2, 0, 7, most - 1, most])
    x, y = (grid.ravel().astype(dtype) for grid in np.meshgrid(few, few))
    return x, y, (np.arange(81) % bits).astype(dtype)

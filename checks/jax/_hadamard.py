"""Operands for products at full speed: types, and numbers whose products are exact in each type.

The rule to know: `w` is (-1)**(i . j), a dot for the bits two numbers have in common: a Hadamard
matrix. It holds -1 and 1 only, and `w @ w` is `n` times the identity. So two products
`x @ w / sqrt(n)` give `x` again, and numbers neither grow nor vanish in any number of rounds. The
rows of `x` are sums of bent functions, the rows of -1 and 1 whose product with `w / sqrt(n)` holds
nothing else either. So every product is a matrix of odd whole numbers as large as those of `x`, and
neither rounding nor the order of adding can change one bit of it.
Source: https://www.hippocampus.si/ISBN/978-961-6832-93-9/files/basic-html/page147.html (4.7)
"""

import jax
import jax.numpy as jnp
import numpy as np

from tpustarter.checks.jax import _matmul_types
from tpustarter.checks.jax._collectives import shard_rows
from tpustarter.checks.jax._shares import label

ROWS = 64
"""Rows of random numbers; a larger `x` repeats them."""

MOST_BITS = 8
"""Significant bits of a number that one bfloat16 pass keeps."""

TYPES_WITHOUT_TPU = ("float32", "bfloat16", "int8")
"""Types that are measured on devices other than TPUs."""


def kinds(device):
    """Yield name, type and precision: what a device has without a cast, and float32 in full."""
    tpu = device.platform == "tpu"
    for name in _matmul_types.native(device) if tpu else TYPES_WITHOUT_TPU:
        yield name, _matmul_types.dtype(name), "default"
    yield "float32 at highest precision", np.dtype("float32"), "highest"


def bits(dtype):
    """Return the bits of a whole number that a type holds, without the sign; at most 8."""
    if jnp.issubdtype(dtype, jnp.integer):
        return jnp.iinfo(dtype).bits - 1
    return min(MOST_BITS, jnp.finfo(dtype).nmant + 1)


def numbers(width, dtype):
    """Return `float32[64, n]`: random odd whole numbers that use every bit of a type."""
    rng = np.random.default_rng(0)
    planes = [2.0**bit * bent(rng, width) for bit in range(bits(dtype))]
    return np.sum(planes, axis=0).astype(np.float32)


def bent(rng, width):
    """Return `[64, n]`: random bent functions (-1)**(a . p(b) + g(b)) of any p and g."""
    half = round(width**0.5)
    orders = np.argsort(rng.random((ROWS, half)), axis=1)
    signs = rng.choice([-1, 1], (ROWS, 1, half))
    rows = transformed(np.eye(half))[:, orders].transpose(1, 0, 2)  # (-1)**(a . p(b))
    return (rows * signs).reshape(ROWS, width)


def transformed(x):
    """Return `x @ w` of `x: [k, n]`, by sums and differences of numbers 1, 2, 4, ... apart."""
    shape, half = x.shape, 1
    while half < shape[1]:
        first, second = np.moveaxis(x.reshape(shape[0], -1, 2, half), 2, 0)
        x, half = np.stack([first + second, first - second], axis=2).reshape(shape), 2 * half
    return x


def product(x):
    """Return `x @ w / sqrt(n)` of `x: float32[k, n]`; float32 holds every sum in it."""
    return transformed(x) / np.float32(x.shape[1] ** 0.5)


def maker(rows, dtype):
    """Return a function that makes `x: [rows, n]` and `w: [n, n]` of the first rows of `x`."""

    def make(first):
        n = first.shape[1]
        place = jnp.arange(n, dtype=np.uint32)
        odd = jax.lax.population_count(place[:, None] & place) & 1
        w = 1 - 2 * odd.astype(np.int32)
        return jnp.tile(first, (rows // ROWS, 1)).astype(dtype), w.astype(dtype)

    return make


def summary(x):
    """Return `float32[128, n]`: 64 rows of `x: [m, n]`, and how many of those alike differ."""
    alike = x.astype(np.float32).reshape(-1, ROWS, x.shape[1])
    others = (alike != alike[:1]).sum(0, dtype=np.int32)  # a NaN differs from itself too
    return jnp.concatenate([alike[0], others.astype(np.float32)])


def difference(actual, expected):
    """Describe how rows `[k, n]` differ from repeats of `expected`, or return an empty string."""
    actual = np.asarray(actual).astype(np.float32).reshape(-1, *expected.shape)
    wrong, infinite = (actual != expected).sum(), (~np.isfinite(actual)).sum()
    text = f"{wrong} of {actual.size} numbers wrong"
    return "" if not wrong else f"{text}, {infinite} of them not finite" if infinite else text


def differences(sample, first, devices):
    """Return for each device how its `summary` differs from that of rows all alike, or no text."""
    expected = np.concatenate([first, np.zeros_like(first)])
    parts = np.split(shard_rows(sample, devices), len(devices))
    pairs = zip(devices, parts, strict=True)
    return {label(device): difference(part, expected) for device, part in pairs}

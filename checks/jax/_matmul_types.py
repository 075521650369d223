"""The number types that a device multiplies without a cast, and numbers that show how it adds.

The rule to know: a product of whole numbers has one right answer, at any precision and in any
order of adding, as long as operands and sums fit their types. One sum in each product is odd and
larger than a coarser accumulator could hold, so that no such accumulator goes unseen.
"""

import jax.numpy as jnp
import numpy as np

from tpustarter.machine import tpus

ROWS, TERMS = 32, 2048
"""Operands are `x: [32, 2048]` and `y: [2048, 32]`."""

TYPES = {
    "float32": ("float32", 63),
    "bfloat16": ("float32", 63),
    "int8": ("int32", 127),
    "float8_e5m2": ("float32", 7),
    "float8_e4m3fn": ("float32", 7),
    "float8_e4m3b11fnuz": ("float32", 7),
    "int4": ("int32", 7),
}
"""The requested type of the sums, and the largest whole number of an operand."""

EVERY_TPU = ("float32", "bfloat16")
"""Source: https://docs.cloud.google.com/tpu/docs/bfloat16"""

TYPES_BY_PLATFORM = {
    "cpu": tuple(name for name in TYPES if name != "int4"),  # XLA refuses int4 products there
    "gpu": ("float32", "bfloat16", "int8"),  # float8 sums are documented to be coarser there
}

COARSE = ("bfloat16", "float16")
"""Types in which sums may be kept although float32 was requested."""


def native(device):
    """Return the names of `TYPES` that a device multiplies without a cast.

    A TPU that is not in the table has the types of every TPU.
    """
    if device.platform != "tpu":
        return TYPES_BY_PLATFORM.get(device.platform, EVERY_TPU)
    generation = tpus.find_generation_by_device_kind(device.device_kind)
    dtypes = generation.matmul_dtypes if generation else ()
    return tuple(name for name in TYPES if name in EVERY_TPU or name in dtypes)


def dtype(name):
    """Return the NumPy dtype of a type name."""
    return np.dtype(getattr(jnp, name))


def whole(name):
    """Return operands of whole numbers, those of floating types times powers of two by row."""
    rng, largest = np.random.default_rng(0), TYPES[name][1]
    lowest = -largest - 1 if name.startswith("int") else -largest
    x = rng.integers(lowest, largest + 1, (ROWS, TERMS)).astype(np.float64)
    y = rng.integers(lowest, largest + 1, (TERMS, ROWS)).astype(np.float64)
    x[0], y[:, 0] = largest, largest
    y[-1, 0] = largest - 1
    if not name.startswith("int"):
        x *= 2.0 ** (np.arange(ROWS) % 4 - 2)[:, None]
    return x.astype(dtype(name)), y.astype(dtype(name))


def normal(name):
    """Return operands of standard normal numbers, rounded to the type."""
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, ROWS, TERMS), np.float32)
    return x.astype(dtype(name)), y.T.astype(dtype(name))


def product(pair):
    """Return `x @ y` and `|x| @ |y|` in float64; whole numbers stay exact there."""
    x, y = (operand.astype(np.float64) for operand in pair)
    return x @ y, np.abs(x) @ np.abs(y)


def difference(actual, exact):
    """Describe how a product of whole numbers differs, or return an empty string."""
    values = np.asarray(actual).astype(np.float64)
    wrong = values != exact
    if not wrong.any():
        return ""
    lost = f"{wrong.sum()} of {wrong.size} numbers wrong"
    if not np.isfinite(values).all():
        return f"{lost}, {(~np.isfinite(values)).sum()} of them not finite"
    for name in COARSE:
        with np.errstate(over="ignore"):
            if (values.astype(dtype(name)).astype(np.float64) == values).all():
                return f"{lost}: sums kept in {name}"
    return f"{lost}, by up to {np.abs(values - exact).max():.6g}"

"""The error bounds of elementary functions on each TPU, and their measured errors.

The rule to know: an error is counted in ULP, the distance from one number of a type to the next.
A correctly rounded result is off by at most 0.5 ULP. Each bound is the largest error over all
numbers of a type, rounded up to half an ULP; subnormal numbers count as 0.

Source, read in 2026-11: https://docs.jax.dev/en/latest/accuracy.html. Its column for CPUs is left
out, because the packages that people install exceed it: with JAX 0.12.0.1 `cbrt` was off by 0.94
ULP on a CPU, where the page says 0.5.
"""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

SINCE = (0, 12)
"""The first JAX that the bounds are for: in 0.10.2, `exp` was off by 4.6 ULP on a CPU, not 1.5."""

COLUMNS = {"v2": 0, "v3": 0, "v4": 0, "v5e": 0, "v5p": 1, "v6e": 2, "tpu7x": 3}
"""Index of a generation in the bounds: the page has one column for v2, v3, v4 and v5e."""

DIGITS = {"float32": 24, "bfloat16": 8}
"""Bits of a number's significand."""

TINY, HUGE = 2.0**-126, 2.0**128
"""Smallest normal number, and the size at which infinity begins; the same for both types."""


class Function(NamedTuple):
    """One function, and the largest error in ULP of each type that the page's columns state."""

    device: Callable
    right: Callable
    """The same in NumPy."""
    float32: tuple[float, ...]
    bfloat16: tuple[float, ...] = ()
    """Empty if untested; functions that models use, or with more than 1 ULP, are tested."""


HALF, ONE = (0.5, 0.5, 0.5, 0.5), (1, 1, 1, 1)

# fmt: off
FUNCTIONS = {
    "exp": Function(lax.exp, np.exp, (116, 109.5, 64.5, 65), ONE),
    "exp2": Function(lax.exp2, np.exp2, (141.5, 133, 90, 90), (44, 44, 44, 75)),
    "log": Function(lax.log, np.log, (4030.5, 62, 2.5, 2.5), (1, 0.5, 0.5, 0.5)),
    # As before libtpu 0.0.50; since then 63 on a v5p, and 3 on those after it.
    "log1p": Function(lax.log1p, np.log1p, (4034, 2082.5, 2049, 2049)),
    "sin": Function(lax.sin, np.sin, (3.5, 3.5, 3.5, 3.5)),
    "cos": Function(lax.cos, np.cos, (3.5, 3.5, 3.5, 3)),
    "tan": Function(lax.tan, np.tan, (6.5, 7, 5.5, 5.5)),
    "tanh": Function(lax.tanh, np.tanh, (1365.5, 92, 1.5, 1.5), HALF),
    "logistic": Function(lax.logistic, lambda x: 1 / (1 + np.exp(-x)),
                         (243, 124, 65.5, 64), (1, 1, 0.5, 63)),
    "sqrt": Function(lax.sqrt, np.sqrt, (3, 3, 2, 2)),
    "rsqrt": Function(lax.rsqrt, lambda x: 1 / np.sqrt(x), (2.5, 2.5, 1.5, 1), HALF),
    "cbrt": Function(lax.cbrt, np.cbrt, (4.5, 4.5, 1.5, 1.5)),
    "reciprocal": Function(lax.reciprocal, lambda x: 1 / x, (198, 40, 1.5, 1.5)),
}
# fmt: on
"""The page as it was before and after libtpu 0.0.50, and the larger figure where they differ."""

if hasattr(lax, "AccuracyMode"):  # JAX 0.6.2 has no public name for it
    exact = functools.partial(lax.exp, accuracy=lax.AccuracyMode.HIGHEST)
    FUNCTIONS["exp, highest"] = Function(exact, np.exp, (1.5, 1.5, 1.5, 1.5))


def tried():
    """Return the pairs of a function's name and a type that are tested."""
    rows = FUNCTIONS.items()
    return [
        (name, dtype) for dtype in DIGITS for name, function in rows if getattr(function, dtype)
    ]


def arguments():
    """Return the numbers to test, `float32[n]` and `bfloat16[m]`, without those below `TINY`.

    The float32 numbers cover all sizes, and more densely where functions bend, turn or end. The
    bfloat16 numbers are all but 128, an exception of JAX's own tests: `exp2` of it is finite.
    """
    sweep = np.arange(0, 2**32, 2**18 - 1, dtype=np.uint32).view(np.float32)
    near_one = 1 + np.arange(-512, 512) / 2**24
    turns = np.arange(-256, 256) * np.pi / 4
    ends = [0.0, -0.0, np.inf, -np.inf, TINY, -TINY, *np.log([TINY, HUGE]), -126, 128]
    extra = np.concatenate([np.linspace(-100, 100, 4001), near_one, -near_one, turns, ends])
    bfloat16s = np.delete(np.arange(2**16, dtype=np.uint16), 0x4300).view(jnp.bfloat16)
    return _normal(np.concatenate([sweep, extra.astype(np.float32)])), _normal(bfloat16s)


def _normal(numbers):
    """Return the numbers without those that TPUs treat as zero, and with one NaN."""
    with np.errstate(invalid="ignore"):
        size = np.abs(numbers.astype(np.float64))
    return np.append(numbers[(size == 0) | (size >= TINY)], numbers.dtype.type(np.nan))


def errors(actual, expected, digits):
    """Return the error of each number in ULP; infinity if only one of the two is NaN.

    All numbers below `TINY` count as one, and infinity follows the largest finite number.
    """
    largest = HUGE * (1 - 2.0 ** -(digits + 1))  # from here on rounded to infinity
    expected = np.where(np.abs(expected) >= largest, np.copysign(HUGE, expected), expected)
    actual = np.clip(actual.astype(np.float64), -HUGE, HUGE)
    with np.errstate(invalid="ignore"):
        exponent = np.frexp(np.maximum(np.abs(expected), TINY))[1] - 1
    unit = 2.0 ** (np.clip(exponent, -126, 127) - digits + 1)
    off = np.abs(_squeezed(actual, digits) - _squeezed(expected, digits)) / unit
    one_nan = np.isnan(actual) != np.isnan(expected)
    return np.where(one_nan, np.inf, np.nan_to_num(off, nan=0.0))


def _squeezed(numbers, digits):
    """Return the numbers without the gap between zero and `TINY`."""
    gap = TINY - 2.0 ** (-126 - digits + 1)
    return np.copysign(np.maximum(np.abs(numbers) - gap, 0), numbers)


def bound(name, dtype, generation, version):
    """Return the documented bound of a function in ULP, or None if there is none."""
    if generation not in COLUMNS or version < SINCE:
        return None
    return getattr(FUNCTIONS[name], dtype)[COLUMNS[generation]]

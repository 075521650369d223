"""Numbers for the operations of STREAM that stay exact however often an operation is repeated.

The rule to know: `a` is changed in place, so a round moves what STREAM counts and nothing else.
Whole numbers below 2**24 are exact in float32: `a` starts with 0 to 255, and `b` holds 0 and 1,
so 2**23 rounds of `a + b` are exact, and the other operations go back and forth.
Source: https://www.cs.virginia.edu/stream/ref.html
"""

import jax.numpy as jnp
import numpy as np

from tpustarter.checks.jax._collectives import shard_rows
from tpustarter.checks.jax._shares import label

LARGEST = (255, 1)
"""The largest whole number in `a`, and in `b`; one less than a power of two."""

ARRAYS = {"copy": 4, "scale": 2, "add": 3, "triad": 3}
"""Number of arrays that an operation reads and writes in a round; the copy is made twice."""

STEP = 16
"""Distance between the rows of each block of an array that are compared."""

SAMPLE = (slice(None), slice(None, None, STEP))


def pattern(most, block, row, column):
    """Return `float32[k, r, c]`: the lowest bits of a number of each place; for NumPy and JAX."""
    return ((block * 101 + row * 13 + column * 7) & most).astype(np.float32)


def fill(*shape):
    """Return a function that makes an array of a shape, given the largest number in it."""

    def fill(most):
        return pattern(most, *jnp.indices(shape, np.int32, sparse=True))

    return fill


def expected(name, shape, rounds):
    """Return the sample of `a: float32[k, r, c]` after so many rounds."""
    blocks, rows, columns = shape
    block, row, column = np.ogrid[:blocks, :rows:STEP, :columns]
    a, b = (pattern(largest, block, row, column) for largest in LARGEST)
    if name == "add":
        return a + np.float32(rounds) * b
    halves = np.flip(a.reshape(2, -1, *a.shape[1:]), axis=1).reshape(a.shape)
    return {"copy": halves, "scale": -a, "triad": b - a}[name] if rounds % 2 else a


def differences(name, sample, rounds, devices):
    """Return for each device how its sample differs from the expected one, or an empty text."""
    blocks, rows, columns = sample.shape
    reference = expected(name, (blocks // len(devices), rows * STEP, columns), rounds)
    actual = shard_rows(sample, devices).reshape(len(devices), *reference.shape)
    wrong = {
        label(device): (part != reference).sum()
        for device, part in zip(devices, actual, strict=True)
    }
    return {
        who: f"{lost} of {reference.size} numbers wrong" * bool(lost) for who, lost in wrong.items()
    }

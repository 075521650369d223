"""Numbers whose sums have one right answer in any order, and those answers.

The rule to know: all partial sums of whole numbers here stay below 2**24, and products of powers
of two within the range of float32, so that no order of adding can round.
"""

import numpy as np

SHAPES = {"ones": (1000, 1000), "few": (64, 257), "powers": (64, 32), "normal": (65536,)}
LIMIT = 65536 * 2**-23
"""Largest error of a sum, for a sum of sizes of 1, in any order and however sums are rounded.

Source: Higham, Accuracy and Stability of Numerical Algorithms, 4.2, with twice the unit roundoff.
"""


def expected(ones, few, powers, _, wide):
    """Return, by NumPy, the results with one right answer; `argmax` is the first of equals."""
    total = wide.sum(axis=1, dtype=np.int32)
    return {
        "sum of a million ones": ones.sum(dtype=np.float64),
        "sum": few.sum(axis=1, dtype=np.float64),
        "mean": few[:, :256].mean(axis=1, dtype=np.float64),
        "cumsum": few.cumsum(axis=1, dtype=np.float64),
        "prod": powers.prod(axis=1, dtype=np.float64),
        "max": few.max(axis=1),
        "min": few.min(axis=0),
        "argmax": few.argmax(axis=1),
        "argmin": few.argmin(axis=0),
        "int32 sum": total,
        "int32 sum, backwards": total,
        "int32 max": wide.max(axis=1),
    }


def draw():
    """Return arguments of `reduce_all`: ones, few different whole numbers, powers of two, any."""
    rng = np.random.default_rng(0)
    few = rng.integers(-8, 9, SHAPES["few"])
    powers = rng.choice([0.5, 1, 2, -0.5, -1, -2], SHAPES["powers"])
    floats = np.ones(SHAPES["ones"]), few, powers, rng.standard_normal(SHAPES["normal"])
    wide = rng.integers(-(2**31), 2**31, SHAPES["few"]).astype(np.int32)
    return (*(array.astype(np.float32) for array in floats), wide)


def difference(actual, reference):
    """Describe the wrong numbers of a reduction, or return an empty string."""
    wrong = np.count_nonzero(actual != reference)
    return f"{wrong} of {np.size(reference)} numbers wrong" if wrong else ""

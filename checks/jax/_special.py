"""A matrix with NaN and infinities, and what operations must return for it.

The rule to know: the same lines run in NumPy and in JAX, so that the expected value is the one that
IEEE 754 gives. Rows 1 to 4 have sums that are NaN or infinite; all other sums are whole numbers.
"""

import numpy as np

SIZE = 128
"""Rows and columns."""

NOT_FINITE = slice(1, 5)
"""Rows whose sum is NaN or infinite."""


def special():
    """Return `float32[128, 128]` of ones, with special numbers in rows 1 to 7."""
    x = np.ones((SIZE, SIZE), np.float32)
    x[1, 5], x[2, 5], x[3, 5] = np.nan, np.inf, -np.inf
    x[4, 5], x[4, 6] = np.inf, -np.inf
    x[5, 7], x[6, 7], x[7, 8] = 0.0, -0.0, -1
    return x


def inside(numpy, x):
    """Return the results of NumPy or JAX for `x: float32[128, 128]`, one number for each row."""
    first, again, second = x[:, 5], x[:, 5], x[:, 6]
    return {
        "sum": numpy.sum(x, axis=1),
        "max": numpy.max(x, axis=1),
        "min": numpy.min(x, axis=1),
        "argmax": numpy.argmax(x, axis=1),
        "argmin": numpy.argmin(x, axis=1),
        "maximum": numpy.maximum(first, second),
        "minimum": numpy.minimum(first, second),
        "==": first == again,
        "!=": first != again,
        "<": first < second,
        ">=": first >= second,
        "isnan": numpy.isnan(first),
        "isfinite": numpy.isfinite(first),
        "nan_to_num": numpy.nan_to_num(first),
        "x - x": first - again,
        "0 * x": (second - 1) * first,
        "1 / x": 1 / x[:, 7],
        "sqrt": numpy.sqrt(x[:, 8]),
    }


def difference(actual, expected):
    """Describe how the rows of an operation differ from NumPy's, or return an empty string."""
    actual = np.asarray(actual)
    wrong = np.flatnonzero((actual != expected) & ~(np.isnan(actual) & np.isnan(expected)))
    if not wrong.size:
        return ""
    row = wrong[0]
    return f"{wrong.size} of {SIZE} rows wrong, such as {actual[row]} for {expected[row]}"


def spoilt(product, sums):
    """Describe NaN and infinity that a product hides or spreads, or return an empty string."""
    finite = np.isfinite(np.asarray(product))
    rows = np.ones(SIZE, bool)
    rows[NOT_FINITE] = False
    hidden = np.count_nonzero(finite[~rows])
    spilt = np.count_nonzero(product[rows] != sums[rows, None])
    lost = [f"{hidden} numbers look finite"] if hidden else []
    lost += [f"{spilt} numbers of ordinary rows are wrong"] if spilt else []
    return " and ".join(lost)

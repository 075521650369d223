"""NumPy's results for indices, with out-of-bounds indices treated as JAX documents them.

The rule to know: negative indices count from the end first. An index that is then out of bounds
reads the nearest element, or a fill value on request, and writes nothing.
Source: https://docs.jax.dev/en/latest/_autosummary/jax.Array.at.html
"""

import jax
import numpy as np

COUNT = 10

READ = (0, 9, -1, -10, 10, -11, 99)
"""The first and the last index, counted from both ends, and indices past both ends."""

WRITE = (1, 8, -3, 10, 99, -11, -99)
"""Indices within bounds, and others past both ends whose nearest elements are not among them."""

LIST = [0, 10, 20, 30]


def reads(x, i):
    """Return the expected result of each way of `read`; `x: int32[10]`, `i: int32[7]`."""
    inside, clipped = _places(i)
    y, lowest = x.astype(np.float32), np.iinfo(np.int32).min
    filled = np.where(inside, y[clipped], np.nan).astype(np.float32)
    fills = [np.where(inside, x[clipped], fill).astype(np.int32) for fill in (lowest, -1)]
    return {
        "x[i]": x[clipped],
        "x[99]": x[9],
        "x.at[i].get(mode='clip')": x[clipped],
        "x.at[i].get(mode='fill')": fills[0],
        "x.at[i].get(mode='fill', fill_value=-1)": fills[1],
        "y.at[i].get(mode='fill')": filled,
        "jnp.take(y, i)": filled,
        "x[8:99]": x[8:],
        "lax.dynamic_slice(x, (i[6],), (4,))": x[6:],
    }


def writes(x, i):
    """Return the expected result of each way of `write`; `x: int32[10]`, `i: int32[7]`."""
    inside, clipped = _places(i)
    written, added, most, twice = (x.copy() for _ in range(4))
    written[clipped[inside]] = -5
    np.maximum.at(most, clipped[inside], 50)
    np.add.at(added, clipped[inside], 7)
    np.add.at(twice, clipped, 7)
    return {
        "x.at[i].set(-5)": written,
        "x.at[i].add(7)": added,
        "x.at[i].max(50)": most,
        "x.at[i].set(-5, mode='drop')": written,
        "x.at[i].add(7, mode='clip')": twice,
        "x.at[99].set(-5)": x,
    }


def _places(i):
    place = np.where(i < 0, i + COUNT, i)
    return (place >= 0) & (place < COUNT), np.clip(place, 0, COUNT - 1)


def differs(actual, expected):
    """Return the numbers found and expected if they differ, else an empty text."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    floats = expected.dtype.kind == "f"
    if actual.dtype == expected.dtype and np.array_equal(actual, expected, equal_nan=floats):
        return ""
    if actual.size > len(READ) + COUNT:
        return f"other numbers, {actual.dtype}{list(actual.shape)}"
    return f"{actual.tolist()}, expected {expected.tolist()}"


def mix(x, index, mask, place, convert):
    """Return the NumPy array `x` and its copy `other(x)` indexed by one another's library.

    `index: int32[2, 3]`, `mask: bool[6]` and `place: int32[]` are NumPy arrays as well.
    """
    y = convert(x)
    return {
        "NumPy array [JAX array]": x[convert(index)],
        "JAX array [NumPy array]": y[index],
        "NumPy array [JAX scalar]": x[convert(place)],
        "JAX array [NumPy mask]": y[mask],
        "NumPy array [JAX mask]": x[convert(mask)],
        "list [JAX scalar]": LIST[convert(place)],
    }


def owner(way, result):
    """Return the library of a result that is not the indexed array's, else an empty text."""
    whose = "JAX" if isinstance(result, jax.Array) else "NumPy"
    return "" if way.startswith((whose, "list")) else f"an array of {whose}"

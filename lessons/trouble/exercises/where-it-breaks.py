"""Repair a length whose slope is nan.

`lengths` returns the length of each row: the square root of the sum of
its squares. A row of zeros has length 0, which is right. But the slope
there is `nan`, and one such row spoils a whole step.

Repair it: the lengths stay as they are, the slope of a row of zeros is 0,
and all other slopes are exact. Rows may be tiny, and still are not zero.
"""

import jax
import jax.numpy as jnp
import numpy as np


def lengths(rows):
    """Return the length of each of `rows: float32[n, k]`."""
    return jnp.sqrt((rows**2).sum(1))  # your code here


# Judged below: leave this part as it is.

rows = np.array([[3, 4], [0, 0], [1e-6, 0], [-5, 12]], np.float32)
found = np.asarray(jax.jit(lengths)(rows))
expected = np.array([5, 0, 1e-6, 13], np.float32)
assert found.shape == (4,), f"found shape {found.shape}, expected (4,)"
told = f"found lengths {found}, expected {expected}"
assert np.allclose(found, expected, rtol=1e-5, atol=0), told
slope = np.asarray(jax.grad(lambda r: lengths(r).sum())(rows))
told = f"found a slope of nan: {slope.tolist()}"
assert not np.isnan(slope).any(), told
told = f"slope of the row of zeros: found {slope[1]}, expected 0"
assert (slope[1] == 0).all(), told
exact = rows / np.maximum(expected, 1e-30)[:, None]
told = f"found slopes {slope.tolist()}, expected {exact.tolist()}"
assert np.allclose(slope, exact, rtol=1e-4), told
print("lengths and slopes are right, also at zero")

"""Choose a tolerance that separates rounding from errors.

`good` gets a matrix product from a TPU (emulated here, one bfloat16 pass)
and the product in float64. It must return True where the two differ only
by rounding, and False where an element is wrong. The elements of a matrix
are about 1e-6, 1 or 1e6 in size, and in each matrix a few are close to
zero.
"""

import jax.numpy as jnp
import numpy as np


def good(found, expected):
    """Return whether `found: float32[n, n]` is `expected` but for rounding."""
    return np.allclose(found, expected)  # your code here


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
x, y = rng.standard_normal((2, 64, 64)).astype(np.float32)
exact = x.astype(np.float64) @ y.astype(np.float64)
short = [m.astype(jnp.bfloat16).astype(np.float32) for m in (x, y)]
rounded = short[0] @ short[1]

no_row = np.where(np.arange(64)[:, None] == 7, 0, rounded)
row, column = np.unravel_index(exact.argmax(), exact.shape)
sign = rounded.copy()
sign[row, column] *= -1
cases = [
    ("one bfloat16 pass", rounded, True),
    ("the float32 of a CPU", x @ y, True),
    ("a row of zeros", no_row, False),
    ("an element with the wrong sign", sign, False),
    ("all NaN", rounded * np.nan, False),
]
for size in (1.0, 1e-6, 1e6):
    for name, product, correct in cases:
        answer = bool(good(size * product, size * exact))
        message = f"{name}, size {size:g}: {answer}, expected {correct}"
        assert answer == correct, message
print("rounding passes, errors do not")

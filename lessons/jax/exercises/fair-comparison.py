"""Tell a product that is rounded from one that is wrong.

`good` gets a matrix product from a TPU (emulated here, one bfloat16
pass) and what float64 says. It must return True where the two differ by
rounding alone, and False where a number is wrong. The numbers of a matrix
are about 1e-6, 1 or 1e6 in size, and in each a few are close to zero.
"""

import jax.numpy as jnp
import numpy as np


def good(found, expected):
    """Return whether `found: float32[n, n]` is `expected`, rounded."""
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
    ("a number with the wrong sign", sign, False),
    ("no numbers, NaN", rounded * np.nan, False),
]
for size in (1.0, 1e-6, 1e6):
    for name, product, wanted in cases:
        answer = bool(good(size * product, size * exact))
        told = f"{name}, size {size:g}: {answer}, expected {wanted}"
        assert answer == wanted, told
print("rounding passes, mistakes do not")

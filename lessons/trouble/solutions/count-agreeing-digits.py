"""Go through the special cases first, and return early: other shapes, then
a nan or an inf.

`np.isfinite(found).all()` is False if there is a nan or an inf. Convert with
`np.asarray(found, np.float64)` first, because NumPy knows little about
bfloat16.

An error below 1e-16 counts as 1e-16, because 0 has no logarithm. An error
above 1 gives a negative number, which `max(0, ...)` turns into 0.

Learned: Six or seven digits that agree are float32, two are bfloat16, and
none is a mistake in the program.
"""

import jax.numpy as jnp
import numpy as np


def agreeing_digits(found, exact):
    """Return to how many digits `found` agrees with `exact: float64[...]`."""
    found = np.asarray(found, np.float64)
    if found.shape != exact.shape:
        raise ValueError(f"shapes {found.shape} and {exact.shape}")
    if not np.isfinite(found).all():
        return 0
    error = np.abs(found - exact).max() / np.abs(exact).max()
    return max(0, int(-np.log10(max(error, 1e-16))))

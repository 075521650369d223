"""Repair a norm whose gradient is NaN.

`lengths` returns the norm of each row: the square root of the sum of its
squares. A row of zeros has norm 0, which is right. But its gradient is
`nan`, and one such row corrupts a whole training step.

Repair the function so that the norms stay the same, the gradient of a row
of zeros is 0, and all other gradients are exact. Rows may be tiny without
being zero.
"""

import jax
import jax.numpy as jnp
import numpy as np


def lengths(rows):
    """Return the norm of each of `rows: float32[n, k]`."""
    return jnp.sqrt((rows**2).sum(1))  # your code here


# Judged below: leave this part as it is.

rows = np.array([[3, 4], [0, 0], [1e-6, 0], [-5, 12]], np.float32)
found = np.asarray(jax.jit(lengths)(rows))
expected = np.array([5, 0, 1e-6, 13], np.float32)
assert found.shape == (4,), f"found shape {found.shape}, expected (4,)"
message = f"found norms {found}, expected {expected}"
assert np.allclose(found, expected, rtol=1e-5, atol=0), message
gradient = np.asarray(jax.grad(lambda r: lengths(r).sum())(rows))
message = f"the gradient has NaN: {gradient.tolist()}, expected none"
assert not np.isnan(gradient).any(), message
message = f"gradient of the row of zeros: found {gradient[1]}, expected 0"
assert (gradient[1] == 0).all(), message
exact = rows / np.maximum(expected, 1e-30)[:, None]
message = f"found {gradient.tolist()}, expected {exact.tolist()}"
assert np.allclose(gradient, exact, rtol=1e-4), f"gradients: {message}"
print("norms and gradients are correct, also at zero")

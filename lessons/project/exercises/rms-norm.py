"""Normalise bfloat16 vectors without losing digits.

`rms_norm` gets `x`, an array of any dtype whose last axis holds vectors,
and `scale`, float32 of the length of a vector. It returns each vector
divided by the root of its mean square and multiplied by `scale`, in the
dtype of `x`. The sum and the division must be done in float32, and 1e-6 is
added to the mean square, so that a vector of zeros stays zeros.
"""

import jax
import jax.numpy as jnp
import numpy as np


def rms_norm(x, scale):
    """Return `x` with a mean square of 1 in each vector, times `scale`."""
    mean_square = jnp.mean(x**2)
    return x / jnp.sqrt(mean_square) * scale  # your code here


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
sizes = np.array([[0.01], [1.0], [300.0]])
x = (sizes * rng.normal(size=(2, 3, 512))).astype(np.float32)
scale = rng.uniform(0.5, 2.0, 512).astype(np.float32)
normalise = jax.jit(rms_norm)


def expected_of(x):
    x = np.asarray(x, np.float64)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * scale


for dtype, limit in [(jnp.float32, 1e-4), (jnp.bfloat16, 5e-3)]:
    given = jnp.asarray(x, dtype)
    found = normalise(given, scale)
    message = f"{dtype.__name__}: found {found.dtype}, expected that of x"
    assert found.dtype == dtype, message
    expected = expected_of(given)
    wrong = abs(np.asarray(found, np.float64) - expected) / (
        abs(expected) + 1e-2
    )
    size = sizes[np.argmax(wrong.max(axis=(0, 2)))].item()
    message = (
        f"{dtype.__name__}: vectors of size {size:g} are wrong by "
        f"{wrong.max():.1%}, at most {limit:.1%} would be rounding"
    )
    assert wrong.max() < limit, message

zeros = np.asarray(normalise(jnp.zeros((1, 512)), scale))
message = f"zeros became {zeros[0, 0]}"
assert not zeros.any(), message
print("one size for all vectors, in float32 and in bfloat16")

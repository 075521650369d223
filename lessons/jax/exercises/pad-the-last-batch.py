"""Pad the last batch, and count every row once.

`accuracy` returns the fraction of rows for which `is_right(x, y)` is
True. `is_right` is compiled, and it takes one batch of rows. As it stands,
`accuracy` drops the rows that do not fill a whole batch. Call `is_right`
with batches of exactly `size` rows, so that it compiles once, and count
each row of the data once and no row of padding. `x` and `y` are NumPy
arrays.
"""

import jax
import jax.numpy as jnp
import numpy as np


def accuracy(is_right, x, y, size):
    """Return the fraction of the rows of `x` that are right."""
    fractions = []  # your code here
    for start in range(0, len(x) - size + 1, size):
        end = start + size
        right = is_right(x[start:end], y[start:end])
        fractions.append(np.mean(right))
    return np.mean(fractions)


# Judged below: leave this part as it is.

shapes = []


@jax.jit
def is_right(x, y):
    shapes.append((x.shape, y.shape))
    return jnp.argmax(x, axis=1) == y


rng = np.random.default_rng(0)
for count in (100, 96, 7, 33):
    x = rng.normal(size=(count, 4)).astype(np.float32)
    best = x.argmax(1)
    y = np.where(np.arange(count) % 3, best, (best + 1) % 4)
    y = y.astype(np.int32)
    x[-1], y[-1] = (1, 0, 0, 0), 0
    x[0], y[0] = (0, 0, 0, 1), 0
    expected = np.mean(x.argmax(1) == y)
    found = float(accuracy(is_right, x, y, 32))
    message = f"{count} rows: found {found:.4f}, expected {expected:.4f}"
    assert np.isclose(found, expected), message
message = f"is_right was compiled for {shapes}, expected only 32 rows"
assert shapes == [((32, 4), (32,))], message
print("every row counted once, one shape compiled")

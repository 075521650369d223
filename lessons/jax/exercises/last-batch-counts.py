"""Judge every row, in batches of one size.

`accuracy` returns the share of rows for which `is_right(x, y)` says True. `is_right` is compiled,
takes a batch of rows and says so for each. As it stands `accuracy` loses the rows that fill no
whole batch. Give `is_right` batches of `size` rows each time, so that it is compiled once. Count
each row of the data once, and nothing else.
"""

import jax
import jax.numpy as jnp
import numpy as np


def accuracy(is_right, x, y, size):
    """Return the share of the rows of `x` that are right, each row counted once."""
    shares = []  # your code here
    for start in range(0, len(x) - size + 1, size):
        right = is_right(x[start : start + size], y[start : start + size])
        shares.append(np.mean(right))
    return np.mean(shares)


# Judged below: leave this part as it is.

shapes = []


@jax.jit
def is_right(x, y):
    shapes.append((x.shape, y.shape))
    return jnp.argmax(x, axis=1) == y


rng = np.random.default_rng(0)
for count in (100, 96, 7, 33):
    x = rng.normal(size=(count, 4)).astype(np.float32)
    y = np.where(np.arange(count) % 3, x.argmax(1), (x.argmax(1) + 1) % 4).astype(np.int32)
    x[-1], y[-1] = (1, 0, 0, 0), 0
    x[0], y[0] = (0, 0, 0, 1), 0
    expected = np.mean(x.argmax(1) == y)
    found = float(accuracy(is_right, x, y, 32))
    assert np.isclose(found, expected), f"{count} rows: found {found:.4f}, expected {expected:.4f}"
assert shapes == [((32, 4), (32,))], f"is_right was compiled for {shapes}, expected 32 rows alone"
print("every row counted once, one shape compiled")

"""Judge every row, in batches of one size.

`accuracy` returns the share of rows for which `is_right(x, y)` says True.
`is_right` is compiled, takes a batch of rows and says so for each. As it
stands `accuracy` loses the rows that fill no whole batch. Give `is_right`
batches of `size` rows each time, so that it is compiled once. Count each
row of the data once, and nothing else. `x` and `y` are NumPy arrays.
"""

import jax
import jax.numpy as jnp
import numpy as np


def accuracy(is_right, x, y, size):
    """Return the share of the rows of `x` that are right."""
    shares = []  # your code here
    for start in range(0, len(x) - size + 1, size):
        end = start + size
        right = is_right(x[start:end], y[start:end])
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
    best = x.argmax(1)
    y = np.where(np.arange(count) % 3, best, (best + 1) % 4)
    y = y.astype(np.int32)
    x[-1], y[-1] = (1, 0, 0, 0), 0
    x[0], y[0] = (0, 0, 0, 1), 0
    right = np.mean(x.argmax(1) == y)
    found = float(accuracy(is_right, x, y, 32))
    told = f"{count} rows: found {found:.4f}, expected {right:.4f}"
    assert np.isclose(found, right), told
told = f"is_right was compiled for {shapes}, expected 32 rows alone"
assert shapes == [((32, 4), (32,))], told
print("every row counted once, one shape compiled")

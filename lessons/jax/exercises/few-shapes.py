"""Fill up ragged batches, and compile at most three times.

`mean_square` below is compiled for each length that it meets: 37 times
for these batches of 20 to 119 numbers. Write `fill_up` so that three
programs do for all batches, and no mean changes. `mean_square` counts a
number as often as its weight says: 1 for a number of the batch, 0 for one
that you filled in.
"""

import jax
import numpy as np


def fill_up(x):
    """Return x: float32[n], filled up, and its weights, both in NumPy."""
    return x, np.ones(len(x), np.float32)  # your code here


# Judged below: leave this part as it is.

shapes = []


@jax.jit
def mean_square(x, weights):
    shapes.append(x.shape)
    return (weights * x * x).sum() / weights.sum()


rng = np.random.default_rng(0)
for length in rng.integers(20, 120, 50).tolist():
    batch = rng.standard_normal(length).astype(np.float32)
    right = float(np.mean(batch * batch))
    found = float(mean_square(*fill_up(batch.copy())))
    message = f"{length} numbers: found {found:.5f}, expected {right:.5f}"
    assert abs(found - right) < 1e-4 * right, message
times, longest = len(shapes), max(shapes)[0]
assert times <= 3, f"compiled {times} times, expected 3 at most"
message = f"filled up to {longest} numbers, expected 256 at most"
assert longest <= 256, message
print(f"50 batches, {times} compilations")

"""Pad ragged batches to a few shapes.

`mean_square` below is compiled for each length that it meets, which means
37 times for these batches of 20 to 119 numbers. Write `pad` so that three
programs are enough for all batches and no mean changes. `mean_square`
counts each number with its weight, which is 1 for a number of the batch
and 0 for padding.
"""

import jax
import numpy as np


def pad(x):
    """Return x: float32[n], padded, and its weights, both in NumPy."""
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
    padded, weights = pad(batch.copy())
    message = f"{len(padded)} numbers, but {len(weights)} weights"
    assert len(padded) == len(weights), message
    counted = float(np.sum(weights))
    message = f"the weights of {length} numbers add up to {counted:g}"
    assert counted == length, f"{message}, so padding counts as data"
    expected = float(np.mean(batch * batch))
    found = float(mean_square(padded, weights))
    message = f"mean of {length} numbers: found {found:.5f}"
    message += f", expected {expected:.5f}"
    assert abs(found - expected) < 1e-4 * expected, message
times = len(shapes)
longest = max(shapes)[0]
message = f"compiled {times} times, expected 3 at most"
assert times <= 3, f"{message}: pad gave {times} different lengths"
message = f"padded to {longest} numbers, expected 256 at most"
assert longest <= 256, message
print(f"50 batches, {times} compilations")

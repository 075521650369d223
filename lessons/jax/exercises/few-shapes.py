"""Fill up ragged batches, and compile at most three times.

`mean_square` below is compiled for each length it meets: 37 times for these batches. Write
`fill_up` so that each mean stays what it is and three programs serve all. The longest batch has
119 numbers. Weights are 1 for a number that counts and 0 for one that does not.
"""

import jax
import numpy as np


def fill_up(x):
    """Return `x: float32[n]` filled up to one of a few lengths, and its weights, both in NumPy."""
    return x, np.ones(len(x), np.float32)  # your code here


# Judged below: leave this part as it is.

traces = []


@jax.jit
def mean_square(x, weights):
    traces.append(x.shape)
    return (weights * x * x).sum() / weights.sum()


rng = np.random.default_rng(0)
for length in rng.integers(20, 120, 50).tolist():
    batch = rng.standard_normal(length).astype(np.float32)
    right, found = float(np.mean(batch * batch)), float(mean_square(*fill_up(batch.copy())))
    text = f"a batch of {length} has the mean square {found:.5f}, expected {right:.5f}"
    assert abs(found - right) < 1e-4 * right, text
assert len(traces) <= 3, f"compiled {len(traces)} times, expected 3 at most"
assert max(traces) <= (256,), f"filled up to {max(traces)[0]} numbers, expected 256 at most"
print(f"50 batches, {len(traces)} compilations")

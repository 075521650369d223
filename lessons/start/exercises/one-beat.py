"""Build one beat of a systolic array.

Each cell keeps a weight. In one beat all cells act at once: `x` moves one cell to the right, new
numbers come in at the left edge, and each cell adds `x * w` to the sum that comes from above. The
cells of the top row get 0 from above.

Write `beat`. What is judged: three beats by hand, and a whole product.
"""

import numpy as np


def beat(moving, sums, weights, left):
    """Return `moving` and `sums` after one beat.

    Args:
        moving: What each cell passed on to the right in the last beat, `[depth, width]`.
        sums: What each cell passed down in the last beat, `[depth, width]`.
        weights: What each cell keeps, `[depth, width]`.
        left: What comes in at the left edge now, `[depth]`.
    """
    return moving, sums  # your code here


# Judged below: leave this part as it is.

weights = np.array([[1.0, 2.0], [3.0, 4.0]])
moving, sums = np.zeros((2, 2, 2))
for number, (left, expected) in enumerate(
    [([5, 0], [[5, 0], [0, 0]]), ([0, 6], [[0, 10], [23, 0]]), ([0, 0], [[0, 0], [0, 34]])], 1
):
    given = moving.copy(), sums.copy(), weights.copy()
    moving, sums = beat(moving, sums, weights, np.array(left, float))
    assert np.shape(sums) == (2, 2), f"sums have shape {np.shape(sums)}, expected (2, 2)"
    found = np.asarray(sums).tolist()
    assert found == expected, f"sums after beat {number}: {found}, expected {expected}"
    assert (weights == given[2]).all(), "the weights changed, expected them to stay"

rng = np.random.default_rng(0)
rows, depth, width = 7, 5, 3
x = rng.integers(-9, 9, (rows, depth)).astype(float)
weights = rng.integers(-9, 9, (depth, width)).astype(float)
moving, sums, result = np.zeros((depth, width)), np.zeros((depth, width)), np.zeros((rows, width))
for now in range(rows + depth + width - 2):
    left = [x[now - k, k] if 0 <= now - k < rows else 0.0 for k in range(depth)]
    moving, sums = beat(moving, sums, weights, np.array(left))
    for n in range(width):
        if 0 <= now - (depth - 1) - n < rows:
            result[now - (depth - 1) - n, n] = sums[-1, n]
wrong = int((result != x @ weights).sum())
assert wrong == 0, f"{wrong} of {result.size} numbers of the product are wrong, expected 0"
print("three beats by hand, and a product of 7 by 5 by 3")

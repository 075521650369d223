"""Build one beat of a systolic array.

Each cell keeps a weight. In one beat all cells act at once: `x` moves one
cell to the right, new numbers come in at the left edge, and each cell
adds `x * w` to the sum that comes from above. The cells of the top row
get 0 from above.

Write `beat`. What is judged: three beats by hand, and a whole product.
"""

import numpy as np


def beat(moving, sums, weights, left):
    """Return `moving` and `sums` after one beat.

    Args:
        moving: The `x` each cell had in the last beat, `[depth, width]`.
        sums: What each cell passed down in it, `[depth, width]`.
        weights: What each cell keeps, `[depth, width]`.
        left: What comes in at the left edge now, `[depth]`.
    """
    return moving, sums  # your code here


# Judged below: leave this part as it is.

weights = np.array([[1.0, 2.0], [3.0, 4.0]])
kept = weights.copy()
moving, sums = np.zeros((2, 2, 2))
BEATS = [
    ([5, 0], [[5, 0], [0, 0]]),
    ([0, 6], [[0, 10], [23, 0]]),
    ([0, 0], [[0, 0], [0, 34]]),
]
for number, (left, expected) in enumerate(BEATS, 1):
    moving, sums = beat(moving, sums, weights, np.array(left, float))
    shape = np.shape(sums)
    assert shape == (2, 2), f"sums: found shape {shape}, expected (2, 2)"
    found = np.asarray(sums).tolist()
    told = f"beat {number}, with {left} coming in"
    told = f"{told}: found sums {found}, expected {expected}"
    assert found == expected, told
    same = (weights == kept).all()
    told = f"found weights {weights.tolist()}"
    assert same, f"{told}, expected {kept.tolist()}"

rng = np.random.default_rng(0)
rows, depth, width = 7, 5, 3
x = rng.integers(-9, 9, (rows, depth)).astype(float)
weights = rng.integers(-9, 9, (depth, width)).astype(float)
moving, sums = np.zeros((2, depth, width))
result = np.zeros((rows, width))
coming = np.zeros((rows + depth + width - 2, depth))
for k in range(depth):
    coming[k : k + rows, k] = x[:, k]
for now, left in enumerate(coming):
    moving, sums = beat(moving, sums, weights, left)
    for n in range(width):
        m = now - (depth - 1) - n
        if 0 <= m < rows:
            result[m, n] = sums[-1, n]
wrong = int((result != x @ weights).sum())
told = f"found {wrong} of {result.size} numbers of a product wrong"
assert wrong == 0, f"{told}, expected none"
print("three beats by hand, and a product of 7 by 5 by 3")

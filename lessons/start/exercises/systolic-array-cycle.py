"""Write one clock cycle of a systolic array.

Each cell keeps a weight. In one cycle all cells act at once: `x` moves one
cell to the right, new values enter at the left edge, and each cell adds
`x * w` to the partial sum from the cell above. The cells of the top row
get 0 from above.

Write `cycle`. The judge tests three cycles by hand, and a whole product.
"""

import numpy as np


def cycle(moving, sums, weights, left):
    """Return `moving` and `sums` after one clock cycle.

    Args:
        moving: The `x` of each cell in the last cycle, `[depth, width]`.
        sums: The partial sum of each cell in it, `[depth, width]`.
        weights: The weight of each cell, `[depth, width]`.
        left: The values that enter at the left edge, `[depth]`.
    """
    return moving, sums  # your code here


# Judged below: leave this part as it is.

weights = np.array([[1.0, 2.0], [3.0, 4.0]])
kept = weights.copy()
moving, sums = np.zeros((2, 2, 2))
CYCLES = [
    ([5, 0], [[5.0, 0.0], [0.0, 0.0]]),
    ([0, 6], [[0.0, 10.0], [23.0, 0.0]]),
    ([0, 0], [[0.0, 0.0], [0.0, 34.0]]),
]
for number, (left, expected) in enumerate(CYCLES, 1):
    moving, sums = cycle(moving, sums, weights, np.array(left, float))
    shape = np.shape(sums)
    assert shape == (2, 2), f"sums: found shape {shape}, expected (2, 2)"
    found = np.asarray(sums).tolist()
    message = f"cycle {number}, with {left} entering: found sums {found}"
    assert found == expected, f"{message}, expected {expected}"
    message = f"found weights {weights.tolist()}, expected {kept.tolist()}"
    assert (weights == kept).all(), message

rng = np.random.default_rng(0)
rows, depth, width = 7, 5, 3
x = rng.integers(-9, 9, (rows, depth)).astype(float)
weights = rng.integers(-9, 9, (depth, width)).astype(float)
moving, sums = np.zeros((2, depth, width))
result = np.zeros((rows, width))
entering = np.zeros((rows + depth + width - 2, depth))
for k in range(depth):
    entering[k : k + rows, k] = x[:, k]
for now, left in enumerate(entering):
    moving, sums = cycle(moving, sums, weights, left)
    for n in range(width):
        m = now - (depth - 1) - n
        if 0 <= m < rows:
            result[m, n] = sums[-1, n]
wrong = int((result != x @ weights).sum())
message = f"{wrong} of {result.size} elements of a product are wrong"
assert wrong == 0, f"{message}, expected none"
print("three cycles by hand, and a product of 7 by 5 by 3")

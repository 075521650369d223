"""Three things happen, in this order: `x` moves, the partial sums come from
above, and each cell multiplies and adds.

Moving to the right means that the new column 1 is the old column 0, and
the new column 0 is `left`. `np.column_stack([left, moving[:, :-1]])` does
both.

From above means that the new row 1 gets the old sums of row 0, and row 0
gets zeros. That is `np.vstack` with a row of zeros and `sums[:-1]`.

The result is `above + moving * weights`, with the `moving` of this cycle
and not of the last one.

Learned: In a systolic array `x` moves right, the partial sums move down,
and every cell multiplies and adds in the same clock cycle.
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
    moving = np.column_stack([left, moving[:, :-1]])
    above = np.vstack([np.zeros(sums.shape[1]), sums[:-1]])
    return moving, above + moving * weights

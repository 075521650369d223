"""Three things, in this order: `x` moves, sums come from above, each cell
multiplies and adds.

Moving to the right means: the new column 1 is the old column 0. The new
column 0 is `left`. `np.column_stack([left, moving[:, :-1]])` is both.

From above means: the new row 1 gets the old sums of row 0, and row 0 gets
zeros. That is `np.vstack` with a row of zeros and `sums[:-1]`.

At last `above + moving * weights`, with the `moving` of this beat, not of
the last one.
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
    moving = np.column_stack([left, moving[:, :-1]])
    above = np.vstack([np.zeros(sums.shape[1]), sums[:-1]])
    return moving, above + moving * weights

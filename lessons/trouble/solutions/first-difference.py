"""`jax.tree_util.tree_leaves_with_path(state)` returns pairs of a path and an
array, for a state of any depth. Go through those of both states together.

`np.array_equal` compares numbers: nan is unlike itself, and -0.0 is like
0.0. What compares bits? `array.tobytes()` has them all.

Bytes don't say which dtype and shape they had, so compare `array.dtype`,
`array.shape` and `array.tobytes()`.

Learned: Compare bits and not numbers to find where two runs diverge, because
the first difference says more than the largest.
"""

import jax
import numpy as np


def first_difference(a, b):
    """Return (step, path) of the first difference, or None."""
    for step, (left, right) in enumerate(zip(a, b, strict=False)):
        leaves = jax.tree_util.tree_leaves_with_path(left)
        others = jax.tree_util.tree_leaves(right)
        for (path, x), y in zip(leaves, others, strict=True):
            if content(x) != content(y):
                return step, jax.tree_util.keystr(path)
    return None


def content(array):
    """Return what makes two arrays the same."""
    return array.dtype, array.shape, array.tobytes()

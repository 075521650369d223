"""How many elements does the result of a matmul have? Each contracted axis is
gone from both operands, and a batch axis is in the result once.

left.size / contracted is what the left operand brings, and right.size /
(contracted * batch) is what the right one adds.

`math.prod(left.shape[axis] for axis in axes)` multiplies the sizes of some
axes, and is 1 if there are none.

Learned: A policy sees operations and shapes, so it can keep what is
expensive to compute and small to store.
"""

import math

import jax
import jax.numpy as jnp


def small_matmuls(operation, left, right=None, **params):
    """Return whether the result of an operation is kept."""
    if operation.name != "dot_general":
        return False
    (contracted_axes, _), (batch_axes, _) = params["dimension_numbers"]
    contracted = math.prod(left.shape[axis] for axis in contracted_axes)
    batch = math.prod(left.shape[axis] for axis in batch_axes)
    left_size, right_size = math.prod(left.shape), math.prod(right.shape)
    result = left_size // contracted * right_size // (contracted * batch)
    return result <= max(left_size, right_size)

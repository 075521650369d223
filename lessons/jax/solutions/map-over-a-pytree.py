"""`jax.tree.map(f, tree)` calls `f` on each leaf of a pytree and returns the
same structure with the results as leaves.

What should `f` do with a leaf that is not an array? It should return the
leaf. `isinstance` says what a leaf is.

Two types of array count: `isinstance(leaf, (jax.Array, np.ndarray))`. A
tracer is a `jax.Array` too.

Learned: `jax.tree.map` changes every leaf of a model at once, and under
`jax.jit` the arrays among them are tracers, which are a `jax.Array` too.
"""

import jax
import jax.numpy as jnp
import numpy as np


def double(tree):
    """Return `tree` with each array in it doubled."""

    def change(leaf):
        is_array = isinstance(leaf, (jax.Array, np.ndarray))
        return 2 * leaf if is_array else leaf

    return jax.tree.map(change, tree)

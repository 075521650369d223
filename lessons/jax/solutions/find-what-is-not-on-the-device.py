"""A JAX array knows the devices that hold it. Which method returns them?

`leaf.devices()` returns a set, for a replicated array and for a sharded one
alike. A set is only equal to another set, whatever its order.

A leaf is misplaced if it is no `jax.Array`, or if `leaf.devices()` differs
from `set(devices)`. NumPy arrays have no such method, so test that first.

Learned: Comparing each leaf's `devices()` with the devices of the mesh finds
NumPy arrays and single-device arrays in a state before they slow down a step.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P


def named_leaves(tree):
    """Return pairs of name and leaf, such as ("params/w", array)."""
    pairs = jax.tree_util.tree_flatten_with_path(tree)[0]
    return [("/".join(key.key for key in path), leaf) for path, leaf in pairs]


def misplaced(tree, devices):
    """Return the names of the leaves that are not on all `devices`."""
    return [
        name
        for name, leaf in named_leaves(tree)
        if not isinstance(leaf, jax.Array) or leaf.devices() != set(devices)
    ]

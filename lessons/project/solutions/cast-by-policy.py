"""`jax.tree.map` shows you a leaf without its name. Which function of
`jax.tree_util` passes the path as well?

`jax.tree_util.tree_map_with_path` calls a function with the path and the
leaf. The last element of a path of dictionaries is a `DictKey`, and its
`key` is the name.

`jnp.issubdtype(leaf.dtype, jnp.floating)` is true for float32 and for
bfloat16, and false for integers.

So the function returns the leaf as it is if `path[-1].key` ends with
`norm`, or if its dtype isn't a floating-point one. Otherwise it casts it.

Learned: A precision policy is one function between the stored parameters
and the matmuls, and the gradient of its casts brings float32 back.
"""

import jax
import jax.numpy as jnp


def cast(tree, dtype):
    """Return the tree as a matmul takes it."""

    def cast_leaf(path, leaf):
        is_norm = str(path[-1].key).endswith("norm")
        if is_norm or not jnp.issubdtype(leaf.dtype, jnp.floating):
            return leaf
        return leaf.astype(dtype)

    return jax.tree_util.tree_map_with_path(cast_leaf, tree)

"""`jax.eval_shape` traces a function and returns shapes and dtypes in place of
arrays. What it returns can be passed to a second `eval_shape`.

The results are `ShapeDtypeStruct`s. Such a leaf has a `size` and a `dtype`,
and `dtype.itemsize` is the number of bytes of one element.

`params = jax.eval_shape(init_params, key)`, then
`optimizer = jax.eval_shape(init_optimizer, params)`. Add up
`leaf.size * leaf.dtype.itemsize` over the leaves of both.

Learned: `jax.eval_shape` tells the size of any state without making an array,
so you know how many chips it needs before you have one.
"""

import jax
import jax.numpy as jnp


def state_bytes(init_params, init_optimizer, key):
    """Return the bytes of the parameters and the optimizer state."""
    params = jax.eval_shape(init_params, key)
    optimizer = jax.eval_shape(init_optimizer, params)
    leaves = jax.tree.leaves((params, optimizer))
    return sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)

"""`(x @ a) @ b` and `x @ (a @ b)` are the same numbers. Which one needs
fewer multiplications for 5 rows?

The rank is the number of columns of `a`, so the scale is
`alpha / params["a"].shape[1]`.

`apply` adds two products, `x @ w` and the scaled one of the adapter, and
never makes a matrix of the size of `w`.

`merge` makes it once: `params["w"] + scale * (params["a"] @ params["b"])`.

Learned: While training, the adapter is two thin products beside the frozen
one, and for serving it is added to the weights once.
"""

import jax
import jax.numpy as jnp
import numpy as np


def apply(params, x, alpha):
    """Return float32[rows, outputs] for float32[rows, inputs]."""
    scale = alpha / params["a"].shape[1]
    return x @ params["w"] + scale * ((x @ params["a"]) @ params["b"])


def merge(params, alpha):
    """Return the merged weights, float32[inputs, outputs]."""
    scale = alpha / params["a"].shape[1]
    return params["w"] + scale * (params["a"] @ params["b"])

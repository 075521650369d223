"""Letters that stand on both sides of `->` stay; letters missing on the right are summed.

`d` must be summed and `s` must stay: which of them is missing on the right?

The result has the axes b, h, t, s in this order: write `->bhts`.
"""

import jax
import jax.numpy as jnp
import numpy as np


def scores(q, k):
    """Return `float32[b, h, t, s]` from `q: float32[b, t, h, d]` and `k: float32[b, s, h, d]`."""
    return jnp.einsum("bthd,bshd->bhts", q, k)

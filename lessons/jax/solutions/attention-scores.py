"""Letters on the right of `->` stay; letters that are missing there are
summed. Which letter must be summed here, and which ones stay?

`d` must be summed and `s` must stay. What is written sums both.

The result has the axes b, h, t, s in this order: write `->bhts`.
"""

import jax
import jax.numpy as jnp
import numpy as np


def scores(q, k):
    """Return [b, h, t, s] from q: [b, t, h, d] and k: [b, s, h, d]."""
    return jnp.einsum("bthd,bshd->bhts", q, k)

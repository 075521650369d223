"""Einsum keeps the letters on the right of `->` and sums over the letters
that are missing there. Which letter must be summed here, and which ones
must stay?

`d` must be summed and `s` must stay. The given line sums both.

The result has the axes b, h, t, s in this order, so write `->bhts`.

Learned: In an einsum you name every axis, and whichever letter is missing
on the right is summed, so you don't need a transpose or a reshape.
"""

import jax
import jax.numpy as jnp
import numpy as np


def scores(q, k):
    """Return [b, h, t, s] from q: [b, t, h, d] and k: [b, s, h, d]."""
    return jnp.einsum("bthd,bshd->bhts", q, k)

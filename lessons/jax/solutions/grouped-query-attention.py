"""With 8 query heads and 2 key heads, query heads 0 to 3 belong to key head 0.
Which reshape of `q` puts these four next to each other on an axis of their
own?

`q.reshape(b, t, g, h // g, d)` does. Call the new axes g and r: `g` occurs in
`k` as well, and `r` does not.

The scores are `"btgrd,bsgd->bgrts"`. In the second einsum the result has the
axes b, t, g, r, d, and a reshape to `q.shape` joins the heads again.

Learned: An einsum letter that one operand lacks broadcasts along it, so key
heads are used by several query heads without a copy.
"""

import math
import re

import jax
import jax.numpy as jnp
import numpy as np


def attend(q, k, v):
    """Return [b, t, h, d] from q: [b, t, h, d] and k, v: [b, s, g, d]."""
    b, t, h, d = q.shape
    g = k.shape[2]
    grouped = q.reshape(b, t, g, h // g, d)
    scores = jnp.einsum("btgrd,bsgd->bgrts", grouped, k) / jnp.sqrt(d)
    weights = jax.nn.softmax(scores, axis=-1)
    result = jnp.einsum("bgrts,bsgd->btgrd", weights, v)
    return result.reshape(q.shape)

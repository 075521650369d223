"""The cache has `length` rows, but only those up to the position count. What
did a causal mask do with the scores that a query must not see?

It set them to -inf before `softmax`. Here there is one query, so the mask
is a row: one boolean for each row of the cache.

`is_visible = jnp.arange(len(keys)) <= position` is that row. Use it in
`jnp.where(is_visible, scores, -jnp.inf)`, and give `softmax` the result.

Learned: A decode step has fixed shapes. It writes one row, and a mask takes
the place of a slice whose length changes.
"""

import jax
import jax.numpy as jnp
import numpy as np


def decode(query, key, value, position, cache):
    """Return the output for one new token, and the cache with its row."""
    keys, values = cache
    keys = keys.at[position].set(key)
    values = values.at[position].set(value)
    scores = jnp.einsum("hk,shk->hs", query, keys) * query.shape[-1] ** -0.5
    is_visible = jnp.arange(len(keys)) <= position
    scores = jnp.where(is_visible, scores, -jnp.inf)
    weights = jax.nn.softmax(scores, axis=-1)
    return jnp.einsum("hs,shk->hk", weights, values), (keys, values)

"""The cache has `length` rows, and only position + 1 of them count. What
became of the scores that a causal mask hides?

`jnp.arange(len(keys)) <= position` is a mask over the rows.

Set the other scores to -inf with `jnp.where`, before `softmax`.

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

"""The scores have the axes b, h, t and s. Over which of them must the
weights of one query add up to 1?

The mask compares the index of each query with that of each key. With `t`
as a column and `s` as a row, `s <= t` is a square of booleans, and it
broadcasts over b and h.

Use `jnp.where(visible, scores, -jnp.inf)`, after the scale and before
`softmax` over the last axis.

Learned: Causal attention is two einsums with a scale, a mask and a softmax
between them, and the mask comes before the softmax.
"""

import jax
import jax.numpy as jnp
import numpy as np


def attention(query, key, value):
    """Return what each position of each head takes from the values."""
    length, size = query.shape[1], query.shape[-1]
    scores = jnp.einsum("bthk,bshk->bhts", query, key) / size**0.5
    positions = jnp.arange(length)
    is_visible = positions[None, :] <= positions[:, None]
    scores = jnp.where(is_visible, scores, -jnp.inf)
    weights = jax.nn.softmax(scores, axis=-1)
    return jnp.einsum("bhts,bshk->bthk", weights, value)

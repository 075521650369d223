"""Write causal attention for a batch and several heads.

`attention` gets queries, keys and values, each float32[batch, length,
heads, size], and returns the same shape. Every position may look at itself
and at earlier positions. Divide the scores by the square root of the head
size, and let `softmax` run over the keys. Use `jnp.einsum` with one letter
for each axis; do not call `jax.nn.dot_product_attention`.
"""

import jax
import jax.numpy as jnp
import numpy as np


def attention(query, key, value):
    """Return what each position of each head takes from the values."""
    scores = jnp.einsum("bthk,bshk->bhts", query, key)
    weights = jax.nn.softmax(scores, axis=-2)  # your code here
    return jnp.einsum("bhts,bshk->bthk", weights, value)


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
query, key, value = rng.normal(size=(3, 2, 6, 3, 8)).astype(np.float32)


def expected_at(batch, position, head):
    scores = key[batch, : position + 1, head] @ query[batch, position, head]
    weights = np.exp(scores / np.sqrt(8))
    return weights / weights.sum() @ value[batch, : position + 1, head]


with jax.default_matmul_precision("highest"):
    found = np.asarray(jax.jit(attention)(query, key, value))
    key_2, value_2 = key.copy(), value.copy()
    key_2[:, -1] += 1
    value_2[:, -1] += 1
    changed = np.asarray(jax.jit(attention)(query, key_2, value_2))

message = f"found the shape {found.shape}, expected {value.shape}"
assert found.shape == value.shape, message
message = "position 0 sees only itself, so its output must be its value"
assert np.allclose(found[:, 0], value[:, 0], atol=1e-4), message
reached = np.unique(np.where(found != changed)[1]).tolist()
message = f"a change at position 5 reached positions {reached}, expected [5]"
assert reached == [5], message
for batch, position, head in np.ndindex(2, 6, 3):
    expected = expected_at(batch, position, head)
    error = abs(found[batch, position, head] - expected).max()
    message = f"position {position} is wrong by {error:.3f}: look at the scale"
    assert error < 1e-4, message
print("every position sees the past, and none the future")

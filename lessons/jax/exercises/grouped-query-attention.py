"""Let query heads use the same keys, without copies.

In grouped-query attention, several query heads use one key head, which makes
the cache of keys and values smaller. `q` has h heads and `k` and `v` have g,
where h is a multiple of g, and query head i belongs to key head i // (h // g).
The function below is right, but `jnp.repeat` builds the large cache again.
Return the same without any array that is larger than `k`. Split the head axis
of `q` into two axes, and give each of them a letter.
"""

import math
import re

import jax
import jax.numpy as jnp
import numpy as np


def attend(q, k, v):
    """Return [b, t, h, d] from q: [b, t, h, d] and k, v: [b, s, g, d]."""
    heads_per_key = q.shape[2] // k.shape[2]
    k = jnp.repeat(k, heads_per_key, axis=2)  # your code instead
    v = jnp.repeat(v, heads_per_key, axis=2)
    scores = jnp.einsum("bthd,bshd->bhts", q, k) / jnp.sqrt(q.shape[3])
    weights = jax.nn.softmax(scores, axis=-1)
    return jnp.einsum("bhts,bshd->bthd", weights, v)


# Judged below: leave this part as it is.


def reference(q, k, v):
    """Return the same from NumPy, head by head."""
    result = np.zeros_like(q)
    heads_per_key = q.shape[2] // k.shape[2]
    for batch in range(q.shape[0]):
        for head in range(q.shape[2]):
            keys = k[batch, :, head // heads_per_key]
            values = v[batch, :, head // heads_per_key]
            scores = q[batch, :, head] @ keys.T / np.sqrt(q.shape[3])
            weights = np.exp(scores - scores.max(1, keepdims=True))
            weights /= weights.sum(1, keepdims=True)
            result[batch, :, head] = weights @ values
    return result


def largest_array(q, k, v):
    """Return how many numbers the largest array has that JAX records."""
    program = str(jax.make_jaxpr(attend)(q, k, v))
    shapes = re.findall(r"f32\[([\d,]+)\]", program)
    return max(math.prod(map(int, shape.split(","))) for shape in shapes)


rng = np.random.default_rng(0)
for t, h, g in ((1, 8, 2), (3, 6, 6), (2, 4, 1)):
    q = rng.normal(size=(2, t, h, 16)).astype(np.float32)
    k, v = rng.normal(size=(2, 2, 256, g, 16)).astype(np.float32)
    found = np.asarray(attend(q, k, v))
    heads = f"{h} query heads, {g} key heads"
    message = f"{heads}: the shape is {found.shape}, expected {q.shape}"
    assert found.shape == q.shape, message
    error = float(np.abs(found - reference(q, k, v)).max())
    message = f"{heads}: error {error:.3f}, expected less than 0.02"
    assert error < 0.02, message
    largest = largest_array(q, k, v)
    message = f"{heads}: an array of {largest} numbers, expected at most "
    message += f"{k.size}, which is the size of k"
    assert largest <= k.size, message
print("grouped heads, and no copy of the cache")

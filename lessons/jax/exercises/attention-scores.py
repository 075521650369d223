"""Compute attention scores with one einsum.

`q` holds one query of d numbers for each text of the batch (b), each
position (t) and each head (h). `k` holds the keys in the same order, for
s positions. For each query and each key of the same text and head, return
their dot product, which is the sum over d. One call of `jnp.einsum` is
enough.
"""

import jax
import jax.numpy as jnp
import numpy as np


def scores(q, k):
    """Return [b, h, t, s] from q: [b, t, h, d] and k: [b, s, h, d]."""
    return jnp.einsum("bthd,bshd->bht", q, k)  # fix this line


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
q = rng.integers(-4, 5, (2, 5, 3, 4)).astype(np.float32)
k = rng.integers(-4, 5, (2, 6, 3, 4)).astype(np.float32)
found = np.asarray(scores(q, k))
message = f"the shape is {found.shape}, expected (2, 3, 5, 6)"
assert found.shape == (2, 3, 5, 6), message
expected = np.swapaxes(q, 1, 2) @ np.moveaxis(k, 1, 3)
wrong = int((found != expected).sum())
message = f"{wrong} of {found.size} scores are wrong, expected none"
assert wrong == 0, message
steps = len(jax.make_jaxpr(scores)(q, k).eqns)
message = f"{steps} operations were traced, expected fewer than 12: no loops"
assert steps < 12, message
print("a score for each query and key")

"""Compare every query with every key, head by head.

`q: float32[b, t, h, d]` holds a query of d numbers for each text of the batch b, each place t and
each head h; `k: float32[b, s, h, d]` holds the keys. `scores` must return `float32[b, h, t, s]`:
the sum over d of query times key. One call of `jnp.einsum` is enough.
"""

import jax
import jax.numpy as jnp
import numpy as np


def scores(q, k):
    """Return `float32[b, h, t, s]` from `q: float32[b, t, h, d]` and `k: float32[b, s, h, d]`."""
    return jnp.einsum("bthd,bshd->bht", q, k)  # mend this line


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
q = rng.integers(-4, 5, (2, 5, 3, 4)).astype(np.float32)
k = rng.integers(-4, 5, (2, 6, 3, 4)).astype(np.float32)
found = np.asarray(scores(q, k))
assert found.shape == (2, 3, 5, 6), f"the shape is {found.shape}, expected (2, 3, 5, 6)"
expected = np.stack([[q[b, :, h] @ k[b, :, h].T for h in range(3)] for b in range(2)])
wrong = int((found != expected).sum())
assert wrong == 0, f"{wrong} of {found.size} scores are wrong, expected none"
steps = [str(one.primitive) for one in jax.make_jaxpr(scores)(q, k).eqns]
assert len(steps) < 12, f"{len(steps)} operations were recorded, expected under 12: no loops"
print("a score for each query and key")

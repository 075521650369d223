"""Mask later tokens in ring attention.

In step `i` of the ring, a device adds the block of keys that began on the
device `i` places before it, round the ring. Write `mask`, so that no token
attends to a later one. Each device holds equally many tokens of the text,
in order: device 0 has the first of them.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

n = jax.device_count()
jax.set_mesh(jax.make_mesh((n,), ("context",)))
RING = [(device, (device + 1) % n) for device in range(n)]


def add_block(state, scores, v):
    """Return the state of a softmax after one more block."""
    top, total, mixed = state
    new_top = jnp.maximum(top, scores.max(axis=1))
    weights = jnp.exp(scores - new_top[:, None])
    scale = jnp.exp(top - new_top)
    total = scale * total + weights.sum(axis=1)
    mixed = scale[:, None] * mixed + weights @ v
    return new_top, total, mixed


def mask(scores, me, i):
    """Return `scores: float32[t, t]` with -1e30 where a key is later.

    `me` is this device's number, and `i` the number of steps so far.
    """
    return scores  # your code here


def on_each_device(q, k, v):
    """Return the attention of the tokens of one device."""
    me = lax.axis_index("context")
    top = jnp.full_like(q[:, 0], -1e30)
    state = top, jnp.zeros_like(top), jnp.zeros_like(q)
    for i in range(n):
        scores = q @ k.T / q.shape[1] ** 0.5
        scores = mask(scores, me, i)
        state = add_block(state, scores, v)
        k, v = lax.ppermute((k, v), "context", perm=RING)
    return state[2] / state[1][:, None]


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
ring = jax.jit(jax.shard_map(on_each_device, out_specs=jax.P("context")))
for tokens in (n, 4 * n):
    q, k, v = rng.normal(size=(3, tokens, 16)).astype(np.float32)
    scores = np.where(np.tri(tokens) > 0, q @ k.T / 4, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = weights @ v / weights.sum(axis=1, keepdims=True)
    with jax.default_matmul_precision("highest"):
        shards = jax.device_put((q, k, v), jax.P("context"))
        found = np.asarray(ring(*shards))
    off = np.abs(found - expected).max(axis=1)
    wrong = np.flatnonzero(off > 1e-4)
    assert not len(wrong), (
        f"with {tokens} tokens, the result differs at positions "
        f"{wrong[:8].tolist()}"
    )
print(f"a causal ring over {n} devices, as with all scores at once")

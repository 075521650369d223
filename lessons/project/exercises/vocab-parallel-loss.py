"""Compute the cross-entropy while the vocabulary is sharded.

`loss` runs on each device, inside `jax.shard_map`. It gets the logits of
the device's own tokens, float32[positions, vocab / devices], and all
targets, int32[positions], which are numbers in the whole vocabulary. Return
the mean cross-entropy, the same on every device, without gathering the
logits. Logits can be as large as 1000, so subtract the maximum over the
whole vocabulary before you take exponentials. The axis is "model".
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def loss(logits, targets):
    """Return the mean cross-entropy over a sharded vocabulary."""
    size = logits.shape[-1]
    first = lax.axis_index("model") * size  # the device's first token
    tokens = first + jnp.arange(size)
    is_target = targets[:, None] == tokens
    of_target = jnp.sum(jnp.where(is_target, logits, 0.0), axis=-1)
    log_sum = jax.nn.logsumexp(logits, axis=-1)
    return lax.pmean(jnp.mean(log_sum - of_target), "model")  # fix this


# Judged below: leave this part as it is.

n = jax.device_count()
rng = np.random.default_rng(0)
mesh = jax.make_mesh((n,), ("model",))
for size in [1.0, 300.0]:
    logits = np.float32(size * rng.normal(size=(10, 4 * n)))
    targets = rng.integers(0, 4 * n, 10).astype(np.int32)
    exact = logits.astype(np.float64)
    exact -= exact.max(-1, keepdims=True)
    log_probs = exact - np.log(np.exp(exact).sum(-1, keepdims=True))
    expected = -log_probs[np.arange(10), targets].mean()
    with jax.set_mesh(mesh):
        sharded = jax.shard_map(
            loss, in_specs=(jax.P(None, "model"), jax.P()), out_specs=jax.P()
        )
        placed = jax.device_put(logits, jax.P(None, "model"))
        found = float(jax.jit(sharded)(placed, jax.device_put(targets)))
    message = f"logits of size {size:g}: found {found:.3f}, "
    message += f"expected {expected:.3f}"
    assert np.isclose(found, expected, rtol=1e-3), message
print("the loss is right, and no device saw all logits")

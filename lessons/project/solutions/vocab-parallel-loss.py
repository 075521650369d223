"""`of_target` is right on the one device that has the target, and 0 on the
others. Which collective gives it to all?

The sum of exponentials is a sum over devices as well. Take the local maximum,
then `lax.pmax(..., "model")`, and subtract that from the logits.

log_sum is `top + jnp.log(lax.psum(jnp.exp(logits - top).sum(-1), "model"))`,
with `top` as a column inside the exponential.

Learned: A softmax over a sharded axis needs a maximum and a sum over devices,
one number for each position, and never the logits themselves.
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
    of_target = lax.psum(of_target, "model")
    top = lax.pmax(logits.max(axis=-1), "model")
    total = jnp.exp(logits - top[:, None]).sum(axis=-1)
    log_sum = top + jnp.log(lax.psum(total, "model"))
    return jnp.mean(log_sum - of_target)

"""Take the probabilities 0.5, 0.3 and 0.2, and p = 0.6. Which tokens are
kept, and what decides it for the second one, the sum with or without it?

Sort them from the largest down, and add them up with `jnp.cumsum`. A token
is kept if the sum before it is still below p, so subtract its own part.

The set ends at a smallest probability, and every token with at least that
much belongs to it. So you need no way back from the sorted order.

With `before = jnp.cumsum(down, axis=-1) - down`, that smallest one is the
minimum of `jnp.where(before < p, down, jnp.inf)` in each row. Set the
logits of all tokens with less to -inf.

Learned: Top-p sampling keeps few tokens where the model is sure and many
where it is not, and a sort and a running sum are enough for it.
"""

import jax
import jax.numpy as jnp
import numpy as np


def top_p(logits, p):
    """Return logits that are -inf outside the smallest set of mass p."""
    probs = jax.nn.softmax(logits, axis=-1)
    down = -jnp.sort(-probs, axis=-1)
    before = jnp.cumsum(down, axis=-1) - down
    in_set = jnp.where(before < p, down, jnp.inf)
    smallest = in_set.min(axis=-1, keepdims=True)
    return jnp.where(probs >= smallest, logits, -jnp.inf)

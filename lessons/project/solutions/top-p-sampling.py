"""Sort the probabilities from the largest down with `jnp.sort`, and add them
up with `jnp.cumsum`. What stands before a token is that sum without its own.

The set ends at a smallest probability. It is the threshold: all tokens with
at least this probability are kept.

`before = jnp.cumsum(down, axis=-1) - down` is the sum before each token. The
smallest one kept is the minimum of `jnp.where(before < p, down, jnp.inf)`.

Learned: Top-p sampling keeps few tokens where the model is sure and many
where it is not, and a sort and a running sum are enough for it.
"""

import jax
import jax.numpy as jnp
import numpy as np


def top_p(logits, p):
    """Return logits that are -inf outside of the smallest set of mass p."""
    probs = jax.nn.softmax(logits, axis=-1)
    down = -jnp.sort(-probs, axis=-1)
    before = jnp.cumsum(down, axis=-1) - down
    in_set = jnp.where(before < p, down, jnp.inf)
    smallest = in_set.min(axis=-1, keepdims=True)
    return jnp.where(probs >= smallest, logits, -jnp.inf)

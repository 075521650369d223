"""Count for each expert separately. What does a one-hot matrix of tokens by
experts look like, and its running sum down the tokens?

`jnp.cumsum(one_hot, axis=0)` counts the tokens of each expert so far, the
token itself included. Its own column minus 1 is the number you look for.

`jnp.take_along_axis(counts, chosen[:, None], axis=1)[:, 0] - 1` picks it.

Learned: A running sum over a one-hot matrix numbers the tokens of each
expert without a loop, and the capacity cuts the numbers off.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np


def slots(chosen, experts, capacity):
    """Return the slot of each token, or -1 where it is dropped."""
    is_chosen = chosen[:, None] == jnp.arange(experts)
    counts = jnp.cumsum(is_chosen.astype(jnp.int32), axis=0)
    own = jnp.take_along_axis(counts, chosen[:, None], axis=1)[:, 0]
    number = own - 1
    return jnp.where(number < capacity, number, -1)

"""-1 is a valid index, the one of the last element, so nothing warns you.
Which positions have a label?

`has_label = labels >= 0` is a mask. Multiply what you picked by it, or use
`jnp.where`, so that padding adds 0 to the sum.

The mean has to divide by the number of labels, not by the size of the array.
`jnp.maximum(has_label.sum(), 1)` avoids 0 / 0.

Learned: Padding with -1 reads the last element without a warning, so mask what
you picked, and divide by the number of labels.
"""

import jax
import jax.numpy as jnp
import numpy as np


def loss(log_probs, labels):
    """Return float32[] from [b, t, vocabulary] and labels: int32[b, t]."""
    has_label = labels >= 0
    chosen = jnp.take_along_axis(log_probs, labels[..., None], axis=-1)
    total = jnp.sum(jnp.where(has_label, chosen[..., 0], 0))
    return -total / jnp.maximum(jnp.sum(has_label), 1)

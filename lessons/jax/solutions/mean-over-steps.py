"""A step with 90 tokens has to weigh more than one with 10. How much more?

The mean loss of a step times its number of tokens is the sum of the losses
of its tokens. Sums can be added up.

Keep `loss * tokens` and `tokens` as sums, and divide once, in `mean`.

Learned: Metrics are summed on the device, weighted by what they are a mean
of, and divided after a single read.
"""

import jax
import jax.numpy as jnp
import numpy as np


def start():
    """Return sums of zero, as a dictionary of arrays."""
    return {"loss": jnp.float32(0), "tokens": jnp.float32(0)}


def add(sums, loss, tokens):
    """Return the sums after a step with the mean loss of its tokens."""
    return {
        "loss": sums["loss"] + loss * tokens,
        "tokens": sums["tokens"] + tokens,
    }


def mean(sums):
    """Return the mean loss of all tokens, as a float."""
    return float(sums["loss"] / sums["tokens"])

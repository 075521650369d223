"""Let t = total + x, rounded. How much of x arrived in t, and how much was
lost?

(t - total) arrived, so (t - total) - x is the error of this addition. Keep it
as the compensation c.

In the next step, subtract c from x first: y = x - c, then t = total + y, and
the new c is (t - total) - y. The state holds `total` and `c`.

Learned: A second float32 that holds the rounding error makes a running sum
almost as accurate as float64, for three more additions per step.
"""

import jax
import jax.numpy as jnp
import numpy as np


def start():
    """Return the state before the first number."""
    return {"total": jnp.float32(0), "compensation": jnp.float32(0)}


def update(state, x):
    """Return the state with one more number: float32[]."""
    y = x - state["compensation"]
    new_total = state["total"] + y
    compensation = (new_total - state["total"]) - y
    return {"total": new_total, "compensation": compensation}


def total(state):
    """Return float32[]: the sum of all numbers so far."""
    return state["total"]

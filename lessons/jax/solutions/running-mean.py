"""At which step does `steps` stop? Print `float(state["steps"])` after 300 of them.

bfloat16 cannot tell 256 from 257. Which type can count to ten thousand?

Give the state other types in `start`: what is added to float32 becomes float32.
"""

import jax
import jax.numpy as jnp
import numpy as np


def start():
    """Return the state before the first step."""
    return {"total": jnp.zeros((), jnp.float32), "steps": jnp.zeros((), jnp.int32)}


def update(state, loss):
    """Return the state with one more loss, `bfloat16[]`."""
    return {"total": state["total"] + loss, "steps": state["steps"] + 1}


def mean(state):
    """Return the mean of all losses so far."""
    return state["total"] / state["steps"]

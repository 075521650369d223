"""At which step does `steps` stop changing? Call `update` 300 times in a
loop, and print `state["steps"]`.

bfloat16 has 8 bits of precision, so 256 + 1 rounds to 256. Which dtype
can count to ten thousand?

Give the state another dtype in `start`: float32 plus bfloat16 is float32.

Learned: bfloat16 can't count beyond 256, so accumulate in float32 even
where the values themselves are bfloat16.
"""

import jax
import jax.numpy as jnp
import numpy as np


def start():
    """Return the state before the first step."""
    zero = jnp.zeros((), jnp.float32)
    return {"total": zero, "steps": zero}


def update(state, loss):
    """Return the state with one more loss: bfloat16[]."""
    return {"total": state["total"] + loss, "steps": state["steps"] + 1}


def mean(state):
    """Return the mean of all losses so far."""
    return state["total"] / state["steps"]

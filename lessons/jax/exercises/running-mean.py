"""Keep the mean of a stream of losses.

A training loop calls `update` at each step with the state so far and the new loss, a `bfloat16`.
`mean` tells the mean of all losses so far. As it stands, both stop moving after some hundred
steps. Mend `start` or `update`, so that ten thousand steps come out right. The loss stays bfloat16.
"""

import jax
import jax.numpy as jnp
import numpy as np


def start():
    """Return the state before the first step."""
    return {"total": jnp.zeros((), jnp.bfloat16), "steps": jnp.zeros((), jnp.bfloat16)}


def update(state, loss):
    """Return the state with one more loss, `bfloat16[]`."""
    return {"total": state["total"] + loss, "steps": state["steps"] + 1}


def mean(state):
    """Return the mean of all losses so far."""
    return state["total"] / state["steps"]


# Judged below: leave this part as it is.


@jax.jit
def run(losses):
    """Return the mean after all of `losses: bfloat16[n]`, one step after the other."""
    state, _ = jax.lax.scan(lambda state, loss: (update(state, loss), None), start(), losses)
    return mean(state)


for stream in (np.full(10_000, 2.0), np.arange(10_000) % 4 / 2):
    losses = jnp.asarray(stream, jnp.bfloat16)
    found, expected = float(run(losses)), float(np.asarray(losses, np.float32).mean())
    near = abs(found - expected) < 1e-3
    assert near, f"after 10000 steps the mean is {found:.4f}, expected {expected:.4f}"
found = float(run(jnp.asarray([1.0, 2.0, 3.0], jnp.bfloat16)))
assert found == 2, f"the mean of 1, 2 and 3 is {found}, expected 2.0"
print("right after ten thousand steps")

"""Accumulate a mean of bfloat16 losses.

A training loop calls `update` in each step with the state so far and the
new loss, a `bfloat16`. `mean` returns the mean of all losses so far. As it
stands, the state stops changing after some hundred steps. Fix `start` or
`update`, so that the mean is right after ten thousand steps. The losses
stay bfloat16.
"""

import jax
import jax.numpy as jnp
import numpy as np


def start():
    """Return the state before the first step."""
    zero = jnp.zeros((), jnp.bfloat16)  # fix this, or update
    return {"total": zero, "steps": zero}


def update(state, loss):
    """Return the state with one more loss: bfloat16[]."""
    return {"total": state["total"] + loss, "steps": state["steps"] + 1}


def mean(state):
    """Return the mean of all losses so far."""
    return state["total"] / state["steps"]


# Judged below: leave this part as it is.


@jax.jit
def run(losses):
    """Return the mean after all losses, one step after the other."""

    def step(state, loss):
        return update(state, loss), None

    return mean(jax.lax.scan(step, start(), losses)[0])


few = float(run(jnp.asarray([1.0, 2.0, 3.0], jnp.bfloat16)))
assert few == 2, f"the mean of 1, 2 and 3 is {few}, expected 2.0"
for stream in (np.full(10_000, 2.0), np.arange(10_000) % 4 / 2):
    losses = jnp.asarray(stream, jnp.bfloat16)
    found = float(run(losses))
    expected = float(stream.mean())
    message = f"after 10000 steps: {found:.4f}, expected {expected:.4f}"
    assert abs(found - expected) < 1e-3, message
print("right after ten thousand steps")

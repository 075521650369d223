"""Add 200,000 numbers in float32, and lose nothing.

A loop adds 0.1 to a total, 200,000 times. In float32 the total ends up far
from 20,000, because each addition rounds. Keep a second number in the state,
the compensation, which holds what the last additions lost, and add it back
later. This is Kahan's method. `start`, `update` and `total` may use float32
alone, and the state may hold as many numbers as you like.
"""

import jax
import jax.numpy as jnp
import numpy as np


def start():
    """Return the state before the first number."""
    return {"total": jnp.float32(0)}


def update(state, x):
    """Return the state with one more number: float32[]."""
    return {"total": state["total"] + x}  # your code here


def total(state):
    """Return float32[]: the sum of all numbers so far."""
    return state["total"]


# Judged below: leave this part as it is.


@jax.jit
def run(numbers):
    """Return the sum, and the final state, one number after the other."""

    def step(state, x):
        return update(state, x), None

    state, _ = jax.lax.scan(step, start(), numbers)
    return total(state), state


small = np.full(200_000, 0.1, np.float32)
rng = np.random.default_rng(0)
mixed = rng.uniform(0, 1000, 200_000).astype(np.float32)
far = np.concatenate([[np.float32(2**24)], np.ones(100_000, np.float32)])
for name, numbers in (("0.1", small), ("mixed", mixed), ("2**24 and 1", far)):
    expected = float(np.sum(numbers, dtype=np.float64))
    found, state = run(numbers)
    dtypes = {leaf.dtype.name for leaf in jax.tree.leaves(state)}
    message = f"the state has {sorted(dtypes)}, expected float32 alone"
    assert dtypes <= {"float32"}, message
    error = abs(float(found) / expected - 1)
    message = f"{name}: {len(numbers)} numbers add up to {float(found):.1f}, "
    message += f"expected {expected:.1f}"
    assert error < 2e-7, message
print("three long sums in float32, right to the last digit")

"""The number of iterations depends on the value. Which of JAX's three loops
repeats for as long as a condition holds?

`jax.lax.while_loop(condition, step, state)` returns the last state. Let
the state be a pair of the number and the count so far.

For the two cases, use `jnp.where(n % 2 == 0, n // 2, 3 * n + 1)`.

Learned: `jax.lax.while_loop` repeats for as long as a condition on the
device holds, which Python's `while` cannot do under `jax.jit`.
"""

import jax
import jax.numpy as jnp


def count_steps(n):
    """Return how many steps lead from n: int32[] to 1, as int32[]."""

    def step(state):
        n, steps = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

    def goes_on(state):
        return state[0] != 1

    return jax.lax.while_loop(goes_on, step, (n, 0 * n))[1]

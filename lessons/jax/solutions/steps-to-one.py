"""How many rounds it takes depends on the number: of the three loops, which one ends by itself?

`jax.lax.while_loop(goes_on, step, state)` takes a state and gives back the last one. Let the state
be the number and the count so far: a pair.

For the two ways to go on: `jnp.where(n % 2 == 0, n // 2, 3 * n + 1)`.
"""

import jax
import jax.numpy as jnp


def count_steps(n):
    """Return how many steps lead from `n: int32[]` to 1, as int32[]."""

    def step(state):
        n, steps = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

    return jax.lax.while_loop(lambda state: state[0] != 1, step, (n, 0 * n))[1]

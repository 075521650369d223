"""Count steps until a number is 1, in one compiled program.

Take a number: halve it where it is even, else triple it and add one, until it is 1. `count_steps`
returns how many steps that took, for `n: int32[]`. It must work under `jax.jit` and `jax.vmap`,
where Python's `if` and `while` cannot look at `n`.
"""

import jax
import jax.numpy as jnp


def count_steps(n):
    """Return how many steps lead from `n: int32[]` to 1, as int32[]."""
    return 0 * n  # your code here


# Judged below: leave this part as it is.


def steps_in_python(n):
    steps = 0
    while n != 1:
        n, steps = n // 2 if n % 2 == 0 else 3 * n + 1, steps + 1
    return steps


numbers = [1, 2, 3, 27, 97, 871, 6171]  # 6171 takes 261 steps
right = [steps_in_python(n) for n in numbers]
found = jax.jit(jax.vmap(count_steps))(jnp.array(numbers, jnp.int32)).tolist()
assert found == right, f"steps from {numbers}: found {found}, expected {right}"
alone = int(jax.jit(count_steps)(jnp.int32(27)))
assert alone == 111, f"steps from 27, alone: found {alone}, expected 111"
length = len(str(jax.make_jaxpr(count_steps)(jnp.int32(3))).splitlines())
assert length < 100, f"{length} lines are recorded, expected fewer than 100: a loop of XLA's"
print("steps:", dict(zip(numbers, found, strict=True)))

"""Count steps with a while loop under jit.

Take a number. If it is even, halve it, and otherwise triple it and add
one. Repeat until it is 1. From 3 you come to 10, 5, 16, 8, 4, 2 and 1,
which is 7 steps. Return the number of steps. The function must work under
`jax.jit` and `jax.vmap`, where Python's `if` and `while` cannot read `n`.
"""

import jax
import jax.numpy as jnp


def count_steps(n):
    """Return how many steps lead from n: int32[] to 1, as int32[]."""
    return 0 * n  # your code here


# Judged below: leave this part as it is.


def steps_in_python(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


alone = int(jax.jit(count_steps)(jnp.int32(3)))
assert alone == 7, f"steps from 3: found {alone}, expected 7"
numbers = [1, 2, 3, 27, 97, 871, 6171]  # 6171 takes 261 steps
expected = [steps_in_python(n) for n in numbers]
found = jax.jit(jax.vmap(count_steps))(jnp.array(numbers)).tolist()
message = f"steps from {numbers}: found {found}, expected {expected}"
assert found == expected, message
program = str(jax.make_jaxpr(count_steps)(jnp.int32(3)))
lines = len(program.splitlines())
message = f"{lines} lines were traced, expected fewer than 100: one loop"
assert lines < 100, message
print("steps:", dict(zip(numbers, found, strict=True)))

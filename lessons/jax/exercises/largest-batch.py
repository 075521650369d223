"""Find the largest batch that fits into a given memory.

`step(weights, batch)` is a function for `jax.jit`. Return the largest number
of rows, from 0 to `most`, for which the compiled step needs at most `limit`
bytes. Compiling for shapes is enough, so nothing has to run:

    jax.jit(step).lower(weights, batch).compile().memory_analysis()

returns an object with `argument_size_in_bytes`, `output_size_in_bytes`,
`temp_size_in_bytes` and `alias_size_in_bytes`. The last one is what
arguments and outputs have in common, so subtract it once. More rows never
need less memory. The step may be compiled 20 times at most.
"""

import jax
import jax.numpy as jnp


def largest_batch(step, weights, limit, most):
    """Return the largest number of rows that fits, or 0 if none does.

    `weights` is a ShapeDtypeStruct of shape (width, width); the batch has
    the shape (rows, width), in float32.
    """
    return 8  # your code here


# Judged below: leave this part as it is.

compiled_rows = []


def gradient_step(weights, batch):
    compiled_rows.append(len(batch))

    def loss(weights):
        hidden = batch
        for _ in range(4):
            hidden = jnp.tanh(hidden @ weights)
        return jnp.mean(hidden**2)

    return weights - 0.1 * jax.grad(loss)(weights)


def needs(weights, rows):
    """Return the bytes of the compiled step, as the task defines them."""
    batch = jax.ShapeDtypeStruct((rows, weights.shape[0]), jnp.float32)
    compiled = jax.jit(gradient_step).lower(weights, batch).compile()
    memory = compiled.memory_analysis()
    return (
        memory.argument_size_in_bytes
        + memory.output_size_in_bytes
        + memory.temp_size_in_bytes
        - memory.alias_size_in_bytes
    )


weights = jax.ShapeDtypeStruct((64, 64), jnp.float32)
cases = {
    "16 MiB": (2**24, 2**17),
    "3 MiB": (3 * 2**20, 2**17),
    "memory for more rows than there are": (2**30, 1000),
    "1,000 bytes, which is less than the weights": (1000, 2**17),
}
for name, (limit, most) in cases.items():
    jax.clear_caches()
    compiled_rows.clear()
    found = largest_batch(gradient_step, weights, limit, most)
    used = len(compiled_rows)
    message = f"{name}: found {found!r}"
    assert isinstance(found, int), f"{message}, expected an int"
    assert 0 <= found <= most, f"{message}, expected 0 to {most}"
    if found:
        needed = needs(weights, found)
        message = f"{name}: {found} rows need {needed} bytes"
        assert needed <= limit, f"{message}, expected at most {limit}"
    if found < most:
        needed = needs(weights, found + 1)
        message = f"{name}: {found + 1} rows need {needed} bytes"
        assert needed > limit, f"{message}, which fits, but found was {found}"
    message = f"{name}: the step was compiled {used} times"
    assert used <= 20, f"{message}, expected 20 at most"
    print(f"{name}: {found} rows, after {used} compilations")

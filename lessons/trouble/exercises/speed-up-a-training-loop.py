"""Speed up a training loop.

`train` gets a function `step(params, batch)` that returns new parameters
and a loss, 20 batches, and `read`, which copies a number to the host. The
loop works, but it recompiles in every step, and it waits for the device in
every step.

Compile once, and call `read` twice: for the loss after step 10 and after
step 20. Return the last parameters and the list of these two losses.
"""

import jax
import jax.numpy as jnp
import numpy as np


def train(step, params, batches, read):
    """Return the parameters after all batches, and two losses."""
    losses = []
    for number, batch in enumerate(batches, 1):

        @jax.jit
        def compiled(params, batch):
            return step(params, batch)

        params, loss = compiled(params, batch)  # your code here
        value = read(loss)
        if number % 10 == 0:
            losses.append(value)
    return params, losses


# Judged below: leave this part as it is.

traces = []
reads = []


def step(params, batch):
    traces.append(batch.shape)
    both = jax.value_and_grad(lambda w: jnp.mean((batch @ w - 1.0) ** 2))
    loss, gradient = both(params)
    return params - 0.1 * gradient, loss


def read(loss):
    reads.append(isinstance(loss, jax.Array))
    return float(loss)


numbers = np.random.default_rng(0).normal(size=(20, 16, 4))
batches = list(numbers.astype(np.float32))
found_params, found = train(step, jnp.zeros(4), batches, read)
message = f"step was traced {len(traces)} times, expected once"
assert len(traces) == 1, message
assert len(reads) == 2, f"found {len(reads)} calls of read, expected 2"
params = jnp.zeros(4)
expected = []
compiled = jax.jit(step)
for batch in batches:
    params, loss = compiled(params, batch)
    expected.append(float(loss))
expected = expected[9::10]
message = f"found losses {found}, expected {expected}"
assert len(found) == 2, message
assert np.allclose(found, expected, rtol=1e-4), message
assert all(reads), "read got a number that was already on the host"
message = f"found params {found_params}, expected {params}"
assert np.allclose(found_params, params, rtol=1e-4), message
print("one program, two reads, the same result")

"""Take the brakes off a training loop.

`train` gets a function `step(weights, batch)`, which returns new weights
and a loss, 20 batches, and `read`, the way to fetch a number to the host.
The loop works, but it compiles in every step, and it waits for the device
in every step.

Compile once, and `read` twice: the loss after step 10 and after step 20.
Return the last weights and the list of these two losses.
"""

import jax
import jax.numpy as jnp
import numpy as np


def train(step, weights, batches, read):
    """Return the weights after all batches, and two losses."""
    losses = []
    for number, batch in enumerate(batches, 1):

        @jax.jit
        def compiled(weights, batch):
            return step(weights, batch)

        weights, loss = compiled(weights, batch)  # your code here
        value = read(loss)
        if number % 10 == 0:
            losses.append(value)
    return weights, losses


# Judged below: leave this part as it is.

traces, reads = [], []


def step(weights, batch):
    traces.append(batch.shape)
    both = jax.value_and_grad(lambda w: jnp.mean((batch @ w - 1.0) ** 2))
    loss, slope = both(weights)
    return weights - 0.1 * slope, loss


def read(loss):
    reads.append(isinstance(loss, jax.Array))
    return float(loss)


numbers = np.random.default_rng(0).normal(size=(20, 16, 4))
batches = list(numbers.astype(np.float32))
found_weights, found = train(step, jnp.zeros(4), batches, read)
told = f"step was run by Python {len(traces)} times, expected once"
assert len(traces) == 1, told
assert len(reads) == 2, f"found {len(reads)} calls of read, expected 2"
weights, expected, compiled = jnp.zeros(4), [], jax.jit(step)
for batch in batches:
    weights, loss = compiled(weights, batch)
    expected.append(float(loss))
expected = expected[9::10]
told = f"found losses {found}, expected {expected}"
assert len(found) == 2, told
assert np.allclose(found, expected, rtol=1e-4), told
assert all(reads), "read was given a number that was on the host already"
told = f"found weights {found_weights}, expected {weights}"
assert np.allclose(found_weights, weights, rtol=1e-4), told
print("one program, two reads, the same result")

"""Give the compiler one layer instead of a hundred.

`apply` goes through 100 layers in a Python loop, so the compiler gets a
program of 100 layers, and takes long. Return the same two results from a
program that has the layer only once: `x` after all layers, and the
largest number in `x` after each of them.
"""

import jax
import jax.numpy as jnp


def layer(x, weights, bias):
    """Return one layer of x: float32[b, w]."""
    return jnp.tanh(x @ weights + bias)


def apply(x, weights, biases):
    """Return x after all layers, and its maxima: float32[layers]."""
    largest = []
    for w, b in zip(weights, biases, strict=True):  # instead of this loop
        x = layer(x, w, b)
        largest.append(x.max())
    return x, jnp.stack(largest)


# Judged below: leave this part as it is.

keys = jax.random.split(jax.random.key(0), 3)
x = jax.random.normal(keys[0], (4, 8))
weights = 0.4 * jax.random.normal(keys[1], (100, 8, 8))
biases = 0.1 * jax.random.normal(keys[2], (100, 8))
steps = len(jax.make_jaxpr(apply)(x, weights, biases).eqns)
assert steps < 20, f"{steps} operations were recorded, expected under 20"
right, highest = x, []
for place in range(100):
    right = jnp.tanh(right @ weights[place] + biases[place])
    highest.append(float(right.max()))
found, largest = jax.jit(apply)(x, weights, biases)
off = float(abs(found - right).max())
assert off < 1e-3, f"x is off by {off:.1e}, expected under 1e-3"
message = f"the maxima have the shape {largest.shape}, expected (100,)"
assert largest.shape == (100,), message
off = float(abs(largest - jnp.array(highest)).max())
assert off < 1e-3, f"the maxima are off by {off:.1e}, expected under 1e-3"
print("100 layers, recorded once")

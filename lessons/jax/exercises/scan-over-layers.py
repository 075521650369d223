"""Scan over a hundred layers instead of unrolling them.

`apply` goes through 100 layers in a Python loop, so JAX traces 100 layers
and the compiler takes long. Return the same two results from a program
that contains the layer once: `x` after all layers, and the largest
element of `x` after each of them.
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
assert steps < 20, f"{steps} operations traced, expected fewer than 20"
expected = x
maxima = []
for index in range(100):
    expected = jnp.tanh(expected @ weights[index] + biases[index])
    maxima.append(float(expected.max()))
found, largest = jax.jit(apply)(x, weights, biases)
error = float(abs(found - expected).max())
assert error < 1e-3, f"error of x {error:.1e}, expected below 1e-3"
message = f"the maxima have the shape {largest.shape}, expected (100,)"
assert largest.shape == (100,), message
error = float(abs(largest - jnp.array(maxima)).max())
assert error < 1e-3, f"error of the maxima {error:.1e}, expected below 1e-3"
print("100 layers, traced once")

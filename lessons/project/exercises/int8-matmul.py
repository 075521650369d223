"""Multiply activations and weights as int8 numbers.

The weights were quantised once, with a scale for each column. `matmul`
gets activations `x`, float32[rows, in], the `numbers` of the weights,
int8[in, out], and their `scale`, float32[1, out]. It quantises `x` with a
scale for each row, multiplies int8 by int8, and returns float32[rows, out].

The sums must be exact, so they need a larger integer type. The program
must contain one matmul, and both of its operands must be int8.
"""

import jax
import jax.numpy as jnp
import numpy as np


def matmul(x, numbers, scale):
    """Return `x` times the weights that were quantised."""
    largest = jnp.max(jnp.abs(x), axis=1, keepdims=True)
    x_scale = largest / 127
    x_numbers = jnp.round(x / x_scale).astype(jnp.int8)
    return (x_numbers @ numbers) * scale  # fix this


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
weights = rng.standard_normal((256, 64)).astype(np.float32)
weights *= 2.0 ** rng.integers(-5, 5, 64)
scale = np.abs(weights).max(axis=0, keepdims=True) / 127
numbers = np.round(weights / scale).astype(np.int8)
x = rng.standard_normal((32, 256)).astype(np.float32)
x *= 2.0 ** rng.integers(-5, 5, (32, 1))

found = np.asarray(jax.jit(matmul)(x, numbers, scale), np.float64)
assert found.shape == (32, 64), f"the result has the shape {found.shape}"
expected = x.astype(np.float64) @ weights.astype(np.float64)
error = np.linalg.norm(found - expected, axis=1)
error /= np.linalg.norm(expected, axis=1)
message = f"a row has a relative error of {error.max():.2f}, "
assert error.max() < 0.03, f"{message}expected less than 0.03"

trace = jax.make_jaxpr(matmul)(x, numbers, scale)


def products(jaxpr):
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            yield [str(variable.aval.dtype) for variable in equation.invars]
        for value in equation.params.values():
            if hasattr(value, "jaxpr"):
                yield from products(value.jaxpr)


dtypes = list(products(trace.jaxpr))
message = f"the matmuls take {dtypes}, expected one of int8 and int8"
assert dtypes == [["int8", "int8"]], message
zero = jax.jit(matmul)(np.zeros_like(x), numbers, scale)
assert (zero == 0).all(), "a row of zeros times the weights is not zero"
print(f"int8 times int8, the largest relative error is {error.max():.3f}")

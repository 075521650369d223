"""Write softmax for both libraries.

The host tests a model in NumPy and the device runs it in JAX, and both need
the same `softmax`. Fix it so that a NumPy array gives a NumPy array, and a
JAX array gives a JAX array, with the dtype of the input in both cases. It
must also work inside `jax.jit`. Write the function once, without an `if`.
"""

import jax
import jax.numpy as jnp
import numpy as np


def softmax(x):
    """Return the softmax of `x` along its last axis."""
    weights = np.exp(x - np.max(x, axis=-1, keepdims=True))  # fix this
    return weights / np.sum(weights, axis=-1, keepdims=True)


# Judged below: leave this part as it is.

rows = np.array([[0.0, 1.0, 2.0], [1000.0, 1000.0, 0.0]])
shifted = np.exp(rows - rows.max(1, keepdims=True))
expected = shifted / shifted.sum(1, keepdims=True)


def check(x, kind, dtype):
    """Judge the softmax of one array."""
    found = softmax(x)
    name = f"{type(found).__name__} of {found.dtype}"
    message = f"{type(x).__name__} of {x.dtype} gave {name}"
    wanted = "a NumPy array" if kind is np.ndarray else "a JAX array"
    assert isinstance(found, kind), f"{message}, expected {wanted}"
    assert found.dtype == dtype, f"{message}, expected {dtype}"
    close = np.allclose(np.asarray(found, np.float64), expected, atol=0.01)
    numbers = np.asarray(found, np.float64).round(2).tolist()
    wanted = expected.round(2).tolist()
    assert close, f"{message}: {numbers}, expected {wanted}"


check(rows, np.ndarray, "float64")
check(rows.astype(np.float32), np.ndarray, "float32")
for dtype in ("float32", "bfloat16"):
    check(jnp.asarray(rows, dtype), jax.Array, dtype)

try:
    jitted = np.asarray(jax.jit(softmax)(rows))
    trouble = "" if np.allclose(jitted, expected, atol=0.01) else "is wrong"
except jax.errors.JAXTypeError as error:
    trouble = f"raises {type(error).__name__}"
assert not trouble, f"under jax.jit it {trouble}, expected the same numbers"
print("NumPy in, NumPy out; JAX in, JAX out; and under jit")

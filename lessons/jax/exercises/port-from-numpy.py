"""Port a function from NumPy.

`center_rows` subtracts from each row the mean of its known numbers, and
writes 0 where a number is missing. A row without any known number becomes 0
as well. It loops over rows, writes into an array, and selects numbers by a
condition, so JAX can't trace it. Write `center_rows_jax`, which returns the
same numbers, keeps the dtype of `x`, and works inside `jax.jit`.
"""

import jax
import jax.numpy as jnp
import numpy as np

MISSING = -1.0


def center_rows(x):
    """Return x: float32[rows, columns], centred, in NumPy."""
    result = np.zeros_like(x)
    for i in range(len(x)):
        known = x[i][x[i] != MISSING]
        if len(known) > 0:
            centred = x[i] - known.mean()
            result[i] = np.where(x[i] == MISSING, 0, centred)
    return result


def center_rows_jax(x):
    """Return the same from a JAX array, without a loop."""
    return center_rows(x)  # your code here


# Judged below: leave this part as it is.

rows = [[1, 3, -1], [-1, -1, -1], [4, -1, -1], [2, 4, 6]]
x = np.array(rows, np.float32)
expected = center_rows(x)
found = center_rows_jax(jnp.asarray(x))
kind = type(found).__name__
message = f"found an array of type {kind}, expected a jax.Array"
assert isinstance(found, jax.Array), message
message = f"found {found.tolist()}, expected {expected.tolist()}"
assert np.allclose(found, expected, atol=1e-5), message

halves = center_rows_jax(jnp.asarray(x, jnp.bfloat16))
message = f"bfloat16 became {halves.dtype}, expected bfloat16"
assert halves.dtype == jnp.bfloat16, message


def operations(count):
    """Return how many operations JAX records for `count` rows."""
    many = jnp.ones((count, 3))
    try:
        return len(jax.make_jaxpr(center_rows_jax)(many).eqns)
    except (jax.errors.JAXTypeError, IndexError) as error:
        return type(error).__name__


few = operations(4)
assert isinstance(few, int), f"{few} under jit, expected a function to trace"
many = operations(400)
message = f"{few} operations for 4 rows and {many} for 400, expected as many"
assert few == many, message
rng = np.random.default_rng(0)
x = rng.integers(-1, 6, (200, 7)).astype(np.float32)
found = np.asarray(jax.jit(center_rows_jax)(x))
error = float(np.abs(found - center_rows(x)).max())
message = f"200 rows under jit: error {error:.4f}, expected less than 0.0001"
assert error < 1e-4, message
print("ported:", few, "operations for any number of rows")

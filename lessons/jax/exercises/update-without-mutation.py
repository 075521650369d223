"""Update without mutation.

A sensor sends readings, and two things are wrong with them. Some sensors
are broken, and their readings must become 0. All others must not exceed
a limit. In NumPy this takes two lines, `x[broken] = 0` and then
`x[x > limit] = limit`, but a JAX array cannot be written to.

Complete `clean`, so that it does the same in the same order and returns a
new array. `broken` is an array of indices. The function must also work
inside `jax.jit`, where the values of `x`, `broken` and `limit` are not
known yet.
"""

import jax
import jax.numpy as jnp


def clean(x, broken, limit):
    """Return `x` with 0 at the indices `broken`, and at most `limit`."""
    return x  # your code here


# Judged below: leave this part as it is.

readings = jnp.array([3.0, 50.0, -20.0, 70.0, 8.0, 40.0])
broken = jnp.array([1, 5])
compiled_clean = jax.jit(clean)

for limit, expected in [
    (10.0, [3.0, 0.0, -20.0, 10.0, 8.0, 0.0]),
    (60.0, [3.0, 0.0, -20.0, 60.0, 8.0, 0.0]),
    (-5.0, [-5.0, -5.0, -20.0, -5.0, -5.0, -5.0]),
]:
    for name, function in [("clean", clean), ("jit(clean)", compiled_clean)]:
        result = function(readings, broken, limit)
        kind = type(result).__name__
        message = f"{name} returned a {kind}, expected a JAX array"
        assert isinstance(result, jax.Array), message
        found = result.tolist()
        message = f"{name}, limit {limit}: found {found}, expected {expected}"
        if found[1] == 50 or found[5] == 40:
            message += "; readings 1 and 5 are broken and still there"
        elif max(found) > limit:
            message += "; some reading is above the limit"
        assert found == expected, message
print("clean, and no array was written to")

"""Clean readings without writing into them.

In NumPy this would be two lines: `x[broken] = 0`, then
`x[x > limit] = limit`. An array of JAX refuses both. Write `clean` so
that it does the same in that order, and returns a new array. `broken` is
an array of places. It must also work inside `jax.jit`, where the numbers
in `x`, `broken` and `limit` are not known yet.
"""

import jax
import jax.numpy as jnp


def clean(x, broken, limit):
    """Return `x`, 0 at the places `broken`, and nowhere above `limit`."""
    return x  # your code here


# Judged below: leave this part as it is.

x = jnp.array([3.0, 50.0, -20.0, 70.0, 8.0, 40.0])
broken = jnp.array([1, 5])
compiled = jax.jit(clean)

for limit, wanted in [
    (10.0, [3, 0, -20, 10, 8, 0]),
    (60.0, [3, 0, -20, 60, 8, 0]),
    (-5.0, [-5, -5, -20, -5, -5, -5]),
]:
    for name, function in [("clean", clean), ("compiled", compiled)]:
        found = function(x, broken, limit)
        kind = type(found).__name__
        told = f"{name} returned a {kind}, expected an array of JAX"
        assert isinstance(found, jax.Array), told
        found = found.tolist()
        told = f"{name}, limit {limit}: found {found}, expected {wanted}"
        assert found == wanted, told
print("clean, and nothing was written")

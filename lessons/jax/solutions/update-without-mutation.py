"""`x.at[indices].set(value)` returns a new array. Give it a name, and
continue with that name.

An `if`, or an index such as `x > limit`, needs values that `jax.jit` does
not have yet. `jnp.where(condition, a, b)` chooses between `a` and `b` for
each element, on the device.

Set the broken readings to 0 first, and then return
`jnp.where(x > limit, limit, x)`. `jnp.minimum(x, limit)` does the same.

Learned: A JAX array is never written to: `.at[...].set` returns a new one,
and `jnp.where` takes the place of an `if` on every element.
"""

import jax
import jax.numpy as jnp


def clean(x, broken, limit):
    """Return `x` with 0 at the indices `broken`, and at most `limit`."""
    x = x.at[broken].set(0)
    return jnp.where(x > limit, limit, x)

"""`x.at[places].set(value)` returns a new array. Give it a name, and go
on with that one.

An `if`, or an index made of `x > limit`, needs numbers that `jax.jit`
does not have yet. `jnp.where(condition, a, b)` chooses on the device.

`jnp.where(x > limit, limit, x)`, after the broken ones were set to 0.
`jnp.minimum(x, limit)` says the same.
"""

import jax
import jax.numpy as jnp


def clean(x, broken, limit):
    """Return `x`, 0 at the places `broken`, and nowhere above `limit`."""
    x = x.at[broken].set(0)
    return jnp.where(x > limit, limit, x)

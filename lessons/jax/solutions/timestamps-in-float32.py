"""What is lost at `jnp.asarray(times)`, before anything is subtracted?

The upper 32 bits of each time are lost. Subtract while the numbers are still
on the host, where NumPy has 64 bits.

`(times - times[0]) / 1e9` in NumPy is a small float64 number. Convert it with
`jnp.asarray(..., jnp.float32)`.

Learned: Subtract the origin on the host in 64 bits, and send the small
difference to the device in 32.
"""

import jax
import jax.numpy as jnp
import numpy as np


def seconds(times):
    """Return float32[n]: seconds since the first of times: int64[n]."""
    on_host = (times - times[0]) / 1e9
    return jnp.asarray(on_host, jnp.float32)

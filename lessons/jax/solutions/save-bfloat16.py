"""The bytes in the file are right, and only the dtype is lost. Where could
you store it?

A name in the file may hold more than the name of the array, for example
`dense` and `bfloat16`, joined by a character that no name contains.

When you save, NumPy accepts unsigned integers of the same size, and
`array.view(f"u{array.itemsize}")` has the same bytes. When you load,
`view` takes a dtype of `jnp`: `array.view(jnp.dtype(kind))`.

Learned: NumPy files keep the bits of bfloat16 and float8 and lose the name
of the dtype, so store the name yourself and use `view` in both directions.
"""

import io

import jax
import jax.numpy as jnp
import numpy as np


def save(file, weights):
    """Write `weights`, a dictionary of JAX arrays, to an open file."""
    arrays = {name: np.asarray(array) for name, array in weights.items()}
    np.savez(
        file,
        **{
            f"{name}|{array.dtype}": array.view(f"u{array.itemsize}")
            for name, array in arrays.items()
        },
    )


def load(file):
    """Return what `save` wrote to an open file."""
    found = {}
    for key, array in np.load(file).items():
        name, kind = key.split("|")
        found[name] = jnp.asarray(array.view(jnp.dtype(kind)))
    return found

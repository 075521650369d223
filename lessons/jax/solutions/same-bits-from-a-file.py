"""The bytes in the file are right. What is lost is the type alone: where
could it be kept?

A name in the file may hold more than the name of the array: `dense` and
`bfloat16`, with a sign between them that no name has.

On the way in, NumPy knows how to save whole numbers of any size:
`one.view(f"u{one.itemsize}")` has the same bytes. On the way back, `view`
takes a type of `jnp`: `one.view(jnp.dtype(kind))`.
"""

import io

import jax
import jax.numpy as jnp
import numpy as np


def save(file, weights):
    """Write `weights`, a dictionary of JAX arrays, to an open file."""
    arrays = {name: np.asarray(one) for name, one in weights.items()}
    np.savez(
        file,
        **{
            f"{name}|{one.dtype}": one.view(f"u{one.itemsize}")
            for name, one in arrays.items()
        },
    )


def load(file):
    """Return what `save` wrote to an open file."""
    found = {}
    for key, one in np.load(file).items():
        name, kind = key.split("|")
        found[name] = jnp.asarray(one.view(jnp.dtype(kind)))
    return found

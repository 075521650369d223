"""A tree of arrays as a model and its optimizer hold it, and how two of them differ."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class State(NamedTuple):
    """The state of an optimizer."""

    step: Any
    moments: Any


DTYPES = (np.float32, jnp.bfloat16, np.int8, np.int32, np.bool_)


def numbers():
    """Return one array of each type."""
    return [(np.arange(6).reshape(2, 3) * 37 % 127).astype(dtype) for dtype in DTYPES]


def differs(sent, found):
    """Return how a tree differs from the one sent in structure, types or numbers, or empty text."""
    if jax.tree.structure(sent) != jax.tree.structure(found):
        return "another structure"
    pairs = zip(jax.tree.leaves(sent), jax.tree.leaves(found), strict=True)
    wrong = [one.dtype.name for one, other in pairs if not same(one, np.asarray(other))]
    return f"other numbers: {', '.join(wrong)}" if wrong else ""


def same(one, other):
    """Return whether two arrays are the same in type, shape and bits."""
    return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())

"""A tree of arrays like that of a model and its optimizer, and the differences of two trees."""

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


def differs(sent, received):
    """Describe how a tree differs in structure, types or numbers, or return an empty string."""
    if jax.tree.structure(sent) != jax.tree.structure(received):
        return "another structure"
    pairs = zip(jax.tree.leaves(sent), jax.tree.leaves(received), strict=True)
    wrong = [
        expected.dtype.name for expected, actual in pairs if not same(expected, np.asarray(actual))
    ]
    return f"other numbers: {', '.join(wrong)}" if wrong else ""


def same(x, y):
    """Return whether two arrays are the same in type, shape and bits."""
    return (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes())

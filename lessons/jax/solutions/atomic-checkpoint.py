"""There are two gaps: where `save` writes, and what. Mend one at a time.

The old file may only go once the new one is complete. Write to a
temporary name in the same folder, and let the last line of `save` be
`temporary.replace(path)`. A save that failed leaves the temporary file
behind, so remove it in a `finally`.

`file.flush()` and `os.fsync(file.fileno())` stand between writing and
renaming. They wait until the bytes are on the disk.

npz knows NumPy's own dtypes alone. Store the bytes of a bfloat16 array as
`uint16` with `array.view(np.uint16)`, under a name that marks it, and
turn them back with `.view(jnp.bfloat16)`.

Learned: A checkpoint is safe when you write it to a temporary file, flush
it to the disk, and rename it last: a reader then finds the old file or the
new one, and never half of one.
"""

import contextlib
import os
import sys
import tempfile
from pathlib import Path

import jax.numpy as jnp
import numpy as np

MARK = "bfloat16:"


def save(path, params):
    """Write arrays by name to `path`, a `Path`, atomically."""
    temporary = path.with_suffix(".tmp")
    try:
        plain = {}
        for name, value in params.items():
            array = np.asarray(value)
            if array.dtype == jnp.bfloat16:
                plain[MARK + name] = array.view(np.uint16)
            else:
                plain[name] = array
        with temporary.open("wb") as file:
            np.savez(file, **plain)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def load(path):
    """Return what `save` wrote, each array with its dtype."""
    back = {}
    with np.load(path) as file:
        for name in file.files:
            array = file[name]
            if name.startswith(MARK):
                array = array.view(jnp.bfloat16)
            back[name.removeprefix(MARK)] = array
    return back

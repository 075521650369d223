"""NumPy arrays that hold the same numbers in different memory.

The rule to know: every layout of a type holds `numbers(dtype)` at the same indices, so that only
the order in which a reader walks through memory can make a difference.
"""

import jax.numpy as jnp
import numpy as np

SHAPE = (48, 130)
"""Not a multiple of a TPU's tile, which is 8 by 128."""

SHAPES = {"a scalar": (), "an empty array": (0, 3), "a plane": SHAPE}

DTYPES = ("bool", "int8", "bfloat16", "uint32")
"""One type for each size in memory, and the one that NumPy itself does not have."""


def numbers(dtype):
    """Return `[48, 130]` numbers of a type without equal neighbours."""
    count = np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE) * 31 + 1
    if dtype == "uint32":
        return count.astype(np.uint32) * np.uint32(2654435761)
    return (count % (2 if dtype == "bool" else 127)).astype(getattr(jnp, dtype, None) or np.bool_)


def arrays(dtype):
    """Return one array for each memory layout, by name, and those of other shapes."""
    plain = numbers(dtype)
    rows, columns = SHAPE
    wide = np.zeros((2 * rows, 3 * columns), plain.dtype)
    spread, window = wide[::2, ::3], wide.copy()[3 : 3 + rows, 5 : 5 + columns]
    spread[...] = window[...] = plain
    read_only = plain.copy()
    read_only.flags.writeable = False
    return {
        "rows first (C)": plain,
        "columns first (Fortran)": np.asfortranarray(plain),
        "reversed": np.ascontiguousarray(plain[::-1, ::-1])[::-1, ::-1],
        "every third of every second": spread,
        "a window of a larger array": window,
        "repeated": np.broadcast_to(plain[:1], plain.shape),
        "not aligned": shifted(plain),
        "read-only": read_only,
        "a scalar": plain[3, 5].reshape(()),
        "empty": np.zeros(SHAPES["an empty array"], plain.dtype),
    }


def shifted(array):
    """Return an array whose memory starts one byte past its type's alignment."""
    memory = np.zeros(array.nbytes + 1, np.uint8)
    memory[1:] = np.frombuffer(array.tobytes(), np.uint8)
    return memory[1:].view(array.dtype).reshape(array.shape)


def mismatch(actual, expected):
    """Return both of two numbers if they differ, else an empty text."""
    return "" if actual == expected else f"{actual}, expected {expected}"


def changed(sent, back):
    """Describe how an array came back changed, compared bit by bit, or return an empty string."""
    if (sent.dtype, sent.shape) != (back.dtype, back.shape):
        return f"{back.dtype.name}{list(back.shape)}"
    if sent.dtype != np.uint32:
        sent, back = (
            np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (sent, back)
        )
    count = int(np.count_nonzero(sent != back))
    return f"{count} of {sent.size} changed" if count else ""

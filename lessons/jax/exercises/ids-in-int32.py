"""Convert ids to int32 without corrupting one.

`ids` is a NumPy array of any integer type. If every id fits into `int32`,
return a JAX array of that dtype with the same ids. If one does not fit,
raise `OverflowError`.
"""

import jax
import jax.numpy as jnp
import numpy as np


def to_device(ids):
    """Return int32[n] from a NumPy array of integers, or raise."""
    return jnp.asarray(ids, "int32")  # your code here


# Judged below: leave this part as it is.


def outcome(ids):
    """Return the ids as a list, or the name of the error."""
    try:
        found = to_device(ids)
    except (OverflowError, TypeError, ValueError) as error:
        return type(error).__name__
    if not isinstance(found, jax.Array) or found.dtype != jnp.int32:
        return f"{type(found).__name__} of {getattr(found, 'dtype', '?')}"
    return np.asarray(found).tolist()


near = [np.array([0, 7, -7]), np.array([2**31 - 1, 1 - 2**31])]
for ids in [*near, np.array([250], np.uint8), np.zeros(0, np.int64)]:
    found = outcome(ids)
    expected = ids.tolist()
    assert found == expected, f"{expected} became {found}, expected the same"
far = [np.array([7, 2**40 + 7]), np.array([2**31]), np.array([-(2**33)])]
far += [np.array([3_000_000_000], np.uint32)]
far += [np.array([2**63 + 5], np.uint64)]
for ids in far:
    found = outcome(ids)
    message = f"{ids.tolist()} became {found}, expected OverflowError"
    assert found == "OverflowError", message
print("no id is corrupted silently")

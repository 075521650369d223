"""Bring ids to the device without a wrong one among them.

`ids` is a NumPy array of any integer type. Where every id fits into 32 bits, `to_device` must
return a JAX array of `int32` with the same ids. Where one does not, it must raise `OverflowError`.
"""

import jax
import jax.numpy as jnp
import numpy as np


def to_device(ids):
    """Return `int32[n]` from a NumPy array of integers; raises OverflowError where one is lost."""
    return jnp.asarray(ids, "int32")  # your code here


# Judged below: leave this part as it is.


def outcome(ids):
    """Return the ids that came out, or the name of the error."""
    try:
        found = to_device(ids)
    except (OverflowError, TypeError, ValueError) as error:
        return type(error).__name__
    fits = isinstance(found, jax.Array) and found.dtype == jnp.int32
    return np.asarray(found).tolist() if fits else f"{type(found).__name__} of {found.dtype}"


for ids in (np.array([0, 7, -7]), np.array([2**31 - 1, 1 - 2**31]), np.array([250], np.uint8)):
    found = outcome(ids)
    assert found == ids.tolist(), f"{ids.tolist()} became {found}, expected the same"
far = [np.array([7, 2**40 + 7]), np.array([2**31]), np.array([-(2**33)])]
far += [np.array([3_000_000_000], np.uint32), np.array([2**63 + 5], np.uint64)]
for ids in far:
    found = outcome(ids)
    assert found == "OverflowError", f"{ids.tolist()} became {found}, expected OverflowError"
found = outcome(np.zeros(0, np.int64))
assert found == [], f"an array without ids became {found}, expected []"
print("no id is lost in silence")

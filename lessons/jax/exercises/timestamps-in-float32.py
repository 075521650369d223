"""Send timestamps to the device.

A log has the time of each event in nanoseconds since 1970, as int64. Such a
number has 61 bits, and neither int32 nor float32 holds it. A model needs the
seconds since the first event. Return them as a float32 JAX array, with an
error below a millisecond.
"""

import jax
import jax.numpy as jnp
import numpy as np


def seconds(times):
    """Return float32[n]: seconds since the first of times: int64[n]."""
    on_device = jnp.asarray(times)
    return (on_device - on_device[0]) / 1e9  # your code here


# Judged below: leave this part as it is.

START = 1_795_219_200_000_000_000  # 2026-11-21, in nanoseconds since 1970
for expected in ([0.0, 0.25, 60.0], [0.0, 3.5, 4.0, 3600.0]):
    offsets = [round(second * 10**9) for second in expected]
    times = START + np.array(offsets, np.int64)
    found = seconds(times)
    kind = f"{type(found).__name__} of {getattr(found, 'dtype', '?')}"
    message = f"found {kind}, expected a JAX array of float32"
    is_right_kind = isinstance(found, jax.Array) and found.dtype == "float32"
    assert is_right_kind, message
    shown = np.asarray(found).round(3).tolist()
    message = f"found {shown}, expected {expected}"
    assert found.shape == (len(expected),), message
    assert np.abs(np.asarray(found) - expected).max() < 1e-3, message
print("seconds since the first event, right to a millisecond")

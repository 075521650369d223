"""Save bfloat16 and float8 arrays without losing a bit.

`save` writes a dictionary of JAX arrays to an `.npz` file, and `load` reads
it back. As they stand, bfloat16 comes back as bytes without a dtype, and
`float8_e5m2` cannot be loaded. Fix both, so that each array comes back
with its dtype and its bits. `float32` copies would double the file, so no
array may take more bytes in the file than on the device.
"""

import io

import jax
import jax.numpy as jnp
import numpy as np


def save(file, weights):
    """Write `weights`, a dictionary of JAX arrays, to an open file."""
    np.savez(
        file, **{name: np.asarray(array) for name, array in weights.items()}
    )  # your code here


def load(file):
    """Return what `save` wrote to an open file."""
    return {
        name: jnp.asarray(array) for name, array in np.load(file).items()
    }  # your code here


# Judged below: leave this part as it is.


def bits(array):
    """Return the bytes of an array."""
    return np.asarray(array).tobytes()


rng = np.random.default_rng(0)
numbers = rng.standard_normal((64, 64))
numbers[0, :4] = np.nan, np.inf, -0.0, 1e-30
weights = {
    "scale": jnp.asarray(numbers, "float32"),
    "dense": jnp.asarray(numbers, "bfloat16"),
    "tiny": jnp.asarray(numbers, "float8_e4m3fn"),
    "steps": jnp.arange(3),
    "wide": jnp.asarray(numbers, "float8_e5m2"),
}
file = io.BytesIO()
save(file, weights)
size = len(file.getvalue())
limit = sum(array.nbytes for array in weights.values()) + 8192
assert size <= limit, f"the file has {size} bytes, expected at most {limit}"
file.seek(0)
found = {}
reason = "load returned nothing"
try:
    found = load(file)
except (TypeError, ValueError) as error:
    reason = f"load raised {type(error).__name__}: {str(error).split('.')[0]}"
assert found, f"{reason}, expected 5 arrays"
assert sorted(found) == sorted(weights), (
    f"found {sorted(found)}, expected {sorted(weights)}"
)
for name, array in weights.items():
    back = found[name]
    kind = f"{type(back).__name__} of {back.dtype}"
    assert isinstance(back, jax.Array), (
        f"{name} is {kind}, expected a JAX array"
    )
    message = f"{name} is {kind}, expected {array.dtype}"
    assert back.dtype == array.dtype, message
    message = f"{name} has the shape {back.shape}, expected {array.shape}"
    assert back.shape == array.shape, message
    message = f"{name} was not loaded bit for bit, expected equal bytes"
    assert bits(back) == bits(array), message
print("5 arrays, each with its dtype and its bits, in", size, "bytes")

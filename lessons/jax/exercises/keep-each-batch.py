"""Keep each batch when the buffer is used again.

`Loader` reads one batch after the other into the same NumPy buffer, so that
it never has to allocate memory. `to_device` must return a JAX array that
keeps the values of its batch, whatever the loader writes later. As it
stands, batches that were loaded earlier change. The judge runs on the CPU,
where the mistake shows every time; on a TPU it would show rarely.
"""

import jax
import jax.numpy as jnp
import numpy as np


def to_device(buffer):
    """Return a JAX array with the values that `buffer` has now."""
    return jax.device_put(buffer)  # your code here


# Judged below: leave this part as it is.


class Loader:
    """Yields a buffer whose values are the number of the batch."""

    def __init__(self, batches, size):
        memory = np.zeros(4 * size + 64, np.uint8)
        start = -memory.ctypes.data % 64  # where a CPU device may share it
        floats = memory[start : start + 4 * size]
        self.buffer = floats.view(np.float32)
        self.batches = batches

    def __iter__(self):
        for number in range(self.batches):
            self.buffer[:] = number
            yield self.buffer


def in_device_memory(batches, size):
    """Return what `to_device` made of every batch, when all are loaded."""
    return [to_device(buffer) for buffer in Loader(batches, size)]


cpu = jax.devices("cpu")[0]
with jax.default_device(cpu):
    for size in (8, 1024, 2**18):
        for number, batch in enumerate(in_device_memory(12, size)):
            kind = type(batch).__name__
            message = f"found a {kind}, expected a jax.Array"
            assert isinstance(batch, jax.Array), message
            message = f"found the shape {batch.shape}, expected ({size},)"
            assert batch.shape == (size,), message
            values = np.unique(np.asarray(batch)).tolist()
            assert values == [number], (
                f"batch {number} of {size} numbers now holds {values[:3]}, "
                f"expected [{number}.0] everywhere"
            )
print("36 batches loaded through one buffer, and each kept its values")

"""Arrays handed from one library to another by DLPack, which shares memory on a CPU."""

import jax
import jax.numpy as jnp
import numpy as np

from tpustarter.checks.jax import _arrays
from tpustarter.checks.jax._refusals import reason
from tpustarter.probe.finding import Finding, compare

DTYPES = ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32")
"""Types that NumPy and DLPack both have; NumPy refuses bfloat16."""

TORCH = ("bool", "int8", "int16", "int32", "uint8", "float16", "bfloat16", "float32")
"""Types that every PyTorch has."""


def cpu():
    """Return JAX's first CPU device, or None if `JAX_PLATFORMS` names none."""
    try:
        devices = jax.devices("cpu")
    except RuntimeError:
        return None
    return next(device for device in devices if device.process_index == jax.process_index())


def find_fortran_order_fault(from_numpy):
    """Return `right` if arrays in Fortran order arrive so at any alignment, else the fault."""
    numbers = np.arange(48, dtype=np.float32).reshape(6, 8)
    for start in (0, 16):  # JAX shares memory at 64-byte boundaries, and copies the rest
        bytes_ = np.zeros(numbers.nbytes + 128, np.uint8)
        first = -bytes_.ctypes.data % 64 + start
        array = bytes_[first : first + numbers.nbytes].view(np.float32).reshape(8, 6).T
        array[...] = numbers
        refused = reason(lambda array=array: from_numpy(array))
        if refused:
            return refused
        if not np.array_equal(np.array(from_numpy(array)), numbers):
            return "wrong numbers"
    return "right"


def order(actual, version, hint):
    """Return the finding about that order, a known fault of JAX 0.6.2 that 0.10.2 does not have."""
    code, name = "JAX-DLPACK-ORDER", "memory order of columns first"
    if actual != "right" and version < (0, 10):
        return Finding(code, name, "info", actual, "right", hint=hint)
    return compare(code, name, actual, "right", hint=hint)


def through_torch(name, device):
    """Describe how an array differs after a round trip to PyTorch, or return an empty string."""
    import torch

    sent = _arrays.ordinary(name)
    tensor = torch.from_dlpack(jax.device_put(sent, device))
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype != name:
        return f"{dtype} in PyTorch"
    return _arrays.difference(sent, np.array(jnp.from_dlpack(tensor.clone())))

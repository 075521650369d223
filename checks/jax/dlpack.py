"""DLPack transfers arrays bit for bit."""

import importlib.util

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax import _arrays, _handover
from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._refusals import reason
from tpustarter.checks.jax._tally import AGAIN, tally
from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "jax"
LEVEL = "full"
NEEDS = {}
TIMEOUT_S = 180
ESTIMATE_S = 1
LESSON = "jax/array-conversion"
SOURCE = "https://docs.jax.dev/en/latest/jax.dlpack.html"
AFTER = ["jax.devices_visible"]
ENV = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
"""Keeps `import torch` from starting a TPU that JAX already has."""

ORDER = "use `jnp.from_dlpack(np.ascontiguousarray(a))` or `jnp.asarray(a)`; see jax issue 17784"
HOST = "`torch.from_numpy(np.array(x))` and `jnp.asarray(tensor.numpy())` copy through the host"


def add_one(x):
    """Return `x + 1` for `x: float32[1024]`."""
    return x + 1


def programs(devices):
    """Yield the program that computes with an exchanged array."""
    x = jax.ShapeDtypeStruct((1024,), np.float32, sharding=SingleDeviceSharding(devices[0]))
    yield "add_one", add_one, (x,)


def from_numpy(array):
    """Return a NumPy array as a JAX array on a CPU, without a copy if possible."""
    return jnp.from_dlpack(array)


def to_numpy(array):
    """Return a JAX array on a CPU as a NumPy array, without a copy."""
    return np.from_dlpack(array)


@with_defaults
def run():
    """Exchange dtypes and memory orders between JAX, NumPy and, if installed, PyTorch."""
    device, cpu = jax.local_devices()[0], _handover.cpu()
    array = np.arange(1024, dtype=np.float32)
    refused = reason(lambda: to_numpy(jax.device_put(array, device)))
    actual, hint = (refused, HOST) if refused else ("handed over", None)
    yield Finding("JAX-DLPACK-DEVICE", f"arrays on {device.platform}", "info", actual, hint=hint)
    if cpu is None:
        yield Finding("JAX-DLPACK-CPU", "arrays on cpu", "info", "not applicable: JAX has no cpu")
        return
    sent = {name: _arrays.ordinary(name) for name in _handover.DTYPES}
    lost = {f"dtype:{name}": _arrays.difference(x, to_numpy(jax.device_put(x, cpu)))
            for name, x in sent.items()}  # fmt: skip
    yield from tally("JAX-DLPACK-OUT", "types from JAX to NumPy", lost)
    lost = {f"dtype:{name}": _arrays.difference(x, np.array(from_numpy(x)))
            for name, x in sent.items()}  # fmt: skip
    yield from tally("JAX-DLPACK-IN", "types from NumPy to JAX", lost)
    result = np.asarray(jax.jit(add_one)(jax.device_put(from_numpy(array), device)))
    actual = _arrays.difference(array + 1, result) or "right"
    yield compare("JAX-DLPACK-USED", "result computed with it", actual, "right", hint=AGAIN)
    actual = _handover.find_fortran_order_fault(from_numpy)
    yield _handover.order(actual, jax.__version_info__, ORDER)
    if importlib.util.find_spec("torch") is None:
        yield Finding("JAX-DLPACK-TORCH", "PyTorch", "info", "not applicable: it is not installed")
        return
    lost = {f"dtype:{name}": _handover.through_torch(name, cpu) for name in _handover.TORCH}
    yield from tally("JAX-DLPACK-TORCH", "types from JAX to PyTorch and back", lost, HOST)

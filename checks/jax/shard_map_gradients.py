"""Gradients in shard_map are the mean over all devices."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _collectives
from tpustarter.checks.jax._shares import label
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.2
LESSON = "jax/collectives"
SOURCE = "https://docs.jax.dev/en/latest/notebooks/shard_map.html"
AFTER = ["jax.devices_visible"]

TRAP = "leave `check_vma` at True: with False, each device trains on its own gradient, and no error"


def mean_loss(w, x):
    """Return the mean of `w * x` over all devices; `w: float32[]`, `x: float32[1]`."""
    return jax.lax.pmean(jnp.mean(w * x), "d")


def gradient(w, x):
    """Return the derivative of the mean loss in `w` that this device has, as `float32[1]`."""
    return jax.grad(mean_loss)(w, x)[None]


def programs(devices):
    """Yield the gradient with and without `check_vma`: `w: float32[]` and `x: float32[d]`."""
    mesh, specs = Mesh(np.array(devices), ("d",)), (P(), P("d"))
    w = _collectives.argument(mesh, P(), dtype=np.float32)
    x = _collectives.argument(mesh, P("d"), len(devices), dtype=np.float32)
    for name, check_vma in {"checked": True, "unchecked": False}.items():
        function = jax.shard_map(
            gradient, mesh=mesh, in_specs=specs, out_specs=P("d"), check_vma=check_vma
        )
        yield name, function, (w, x)


def run():
    """Compare the gradient on each device with the mean, and with the device's own."""
    devices = jax.local_devices()
    own = np.arange(1, 1 + len(devices), dtype=np.float32) ** 2
    rows = {}
    for program in programs(devices):
        output = _collectives.execute([program], np.float32(1), own)
        rows[program[0]] = _collectives.shard_rows(output, devices)
    lost = {
        label(device): "" if is_mean else f"{row:g}, not {own.mean():g}"
        for device, row, is_mean in zip(
            devices, rows["checked"], np.isclose(rows["checked"], own.mean()), strict=True
        )
    }
    yield from tally("JAX-SHARD-MAP-GRADIENT", "devices with the mean gradient", lost)
    others = int(np.count_nonzero(~np.isclose(rows["unchecked"], own.mean())))
    name = "devices with another gradient, check_vma=False"
    yield Finding("JAX-SHARD-MAP-UNCHECKED", name, "info", others, hint=TRAP if others else None)

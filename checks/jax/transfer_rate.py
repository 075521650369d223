"""Large host transfers keep every bit."""

import jax
import numpy as np

from tpustarter.checks.jax import _transfers
from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._figures import figures
from tpustarter.checks.jax._placements import WHERE, placements
from tpustarter.checks.jax._tally import AGAIN, tally
from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "jax"
LEVEL = "full"
NEEDS = {}
TIMEOUT_S = 300
ESTIMATE_S = 0.5
LESSON = "jax/measure-and-profile"
SOURCE = "https://docs.jax.dev/en/latest/_autosummary/jax.device_put.html"
AFTER = ["jax.devices_visible"]

MIB = {"cpu": (4, 1)}
"""Size of the array for one device, and of each part of the array for all; elsewhere 256 and 64."""

SHARED = "no transfer, because NumPy and a CPU device use the same memory"

HINTS = {
    "tpu": "PCIe carries about 15 GB/s to and from a chip, 32 GB/s on v6e"
    " (https://jax-ml.github.io/scaling-book/tpus), so keep arrays on the device between steps",
    "cpu": "these copies stay in the host's memory, while a TPU is reached over PCIe",
}


def programs(devices):
    """Yield the fingerprint of one device's array `uint32[1, r, w]`, and of an array on all."""
    sizes = dict(zip(WHERE, MIB.get(devices[0].platform, (256, 64)), strict=True))
    for name, sharding in placements(devices):
        whole, spec = _transfers.fingerprint, sharding.spec
        function = jax.shard_map(whole, mesh=sharding.mesh, in_specs=spec, out_specs=spec)
        shape = (len(sharding.device_set), sizes[name] * 2**11, _transfers.WIDTH)
        yield name, function, (jax.ShapeDtypeStruct(shape, np.uint32, sharding=sharding),)


@with_defaults
def run():
    """Send arrays to one device, then to all, check them there, and fetch them back."""
    devices = jax.local_devices()
    hint = HINTS.get(devices[0].platform)
    for name, function, (like,) in programs(devices):
        trips = _transfers.travel(jax.jit(function), like)
        where, code = WHERE[name], f"JAX-TRANSFER-{name.upper()}"
        title = f"devices with bit-identical data, {where}"
        yield from tally(f"{code}-ARRIVED", title, trips.lost)
        title, repeats = f"arrays returned bit for bit, {where}", _transfers.REPEATS
        yield compare(f"{code}-RETURNED", title, trips.returned, repeats, hint=AGAIN)
        yield from rates(f"{code}-THERE", f"NumPy to {where}", trips.to_device, hint)
        yield from rates(f"{code}-BACK", f"{where} to NumPy", trips.to_host, hint)


def rates(code, name, values, hint):
    """Yield the best and median rates, or a finding that nothing was copied."""
    if values:
        yield from figures(code, name, values, "GB/s", best=max, hint=hint)
    else:
        yield Finding(code, name, "info", SHARED, hint=hint)

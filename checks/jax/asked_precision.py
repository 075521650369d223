"""Every way to set the precision takes effect."""

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax import _precision, _requests
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding
from tpustarter.probe.target import target

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.5
LESSON = "jax/precision"
SOURCE = "https://docs.jax.dev/en/latest/201/precision.html"
AFTER = ["jax.devices_visible"]

USE = "`jnp.matmul(x, y, precision='highest')` sets it for that call, whatever the context is"
DO = _precision.AGAIN.replace("matmul_precision", "asked_precision")


def multiply_all_ways(x, y):
    """Return `x @ y` for each way to request a precision; `x, y: float32[512, 512]`."""
    return [way.multiply(x, y) for way in _requests.WAYS.values()]


def programs(devices):
    """Yield one program that requests a precision in every way."""
    shape, sharding = (_precision.SIZE, _precision.SIZE), SingleDeviceSharding(devices[0])
    x = jax.ShapeDtypeStruct(shape, np.float32, sharding=sharding)
    yield "multiply_all_ways", multiply_all_ways, (x, x)


def run():
    """Read the precision that each way requests, then measure the arithmetic that was used."""
    device, pair = jax.local_devices()[0], _precision.scattered()
    lost = {}
    for name, way in _requests.WAYS.items():
        actual = _requests.requested(way.multiply, *pair)
        lost[f"way:{name}"] = "" if actual == way.asks else f"requests {actual}, not {way.asks}"
    yield from tally("JAX-REQUEST-ASKED", "ways that request their precision", lost, USE)

    lost = {}
    products = jax.jit(multiply_all_ways)(*jax.device_put(pair, device))
    kinds = _requests.computed(products, pair)
    for (name, way), kind in zip(_requests.WAYS.items(), kinds, strict=True):
        lost[f"way:{name}"] = difference(kind, documented(way.asks))
        if way.asks in _requests.PRESETS:
            entity = f"way:{name}"
            yield Finding("JAX-REQUEST-PRESET", "arithmetic", "info", kind, entity=entity)
    yield from tally("JAX-REQUEST-DONE", "ways computed at the documented precision", lost, DO)


def documented(asks):
    """Return the coarsest arithmetic that a request may be given on this platform.

    A CPU is documented to ignore levels, and none of its pages says what it makes of presets.
    """
    level = _requests.LEVELS.index(_requests.PRESETS.get(asks, asks))
    preset = asks in _requests.PRESETS and target().platform != "tpu"
    return _precision.DOCUMENTED["tpu" if preset else target().platform][level]


def difference(kind, expected):
    """Describe arithmetic that is less precise than documented, or return an empty string."""
    return f"{kind}, not {expected}" if _precision.worse(kind, expected) else ""

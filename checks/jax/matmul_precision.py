"""float32 matmul is as accurate as documented."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax import _precision
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


def multiply_default(x, y):
    """Return `x @ y` at the default precision; `x, y: float32[512, 512]`."""
    return jnp.matmul(x, y)


def multiply_high(x, y):
    """Return `x @ y` in three bfloat16 passes on a TPU; `x, y: float32[512, 512]`."""
    return jnp.matmul(x, y, precision="high")


def multiply_highest(x, y):
    """Return `x @ y` in six bfloat16 passes on a TPU; `x, y: float32[512, 512]`."""
    return jnp.matmul(x, y, precision="highest")


def programs(devices):
    """Yield the same product at the three precisions."""
    shape, sharding = (_precision.SIZE, _precision.SIZE), SingleDeviceSharding(devices[0])
    x = jax.ShapeDtypeStruct(shape, np.float32, sharding=sharding)
    yield "default", multiply_default, (x, x)
    yield "high", multiply_high, (x, x)
    yield "highest", multiply_highest, (x, x)


def run():
    """Measure each precision against float64, and name the arithmetic that it used."""
    setting = jax.config.values["jax_default_matmul_precision"]
    yield Finding("JAX-PRECISION-SETTING", "default precision", "info", setting or "not set")
    platform, device = target().platform, jax.local_devices()[0]
    precisions = zip(programs([device]), _precision.DOCUMENTED[platform], strict=True)
    for (name, function, _), documented in precisions:
        multiply = jax.jit(function)
        scattered, dense, issue = _precision.scattered(), _precision.dense(), _precision.issue()
        product = np.asarray(multiply(*jax.device_put(scattered, device)))
        kind = _precision.classify(_precision.relative_error(product, scattered))
        yield _precision.judge(name, kind, documented, setting if name == "default" else None)

        product = np.asarray(multiply(*jax.device_put(dense, device)))
        yield _precision.measure(name, kind, _precision.relative_error(product, dense))
        if name == "default":
            actual = f"{np.asarray(multiply(*jax.device_put(issue, device)))[0, 0]:.8f}"
            expected = _precision.ISSUE_RESULT.get(kind)
            same = "ok" if actual == expected else "info"
            yield Finding("JAX-PRECISION-9973", "product of jax issue 9973", same, actual, expected)

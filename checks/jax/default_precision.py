"""JAX_DEFAULT_MATMUL_PRECISION takes effect."""

import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax import _precision, _requests
from tpustarter.probe.finding import Finding, compare
from tpustarter.probe.target import target

FRAMEWORK = "jax"
LEVEL = "full"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 1
LESSON = "jax/precision"
SOURCE = "https://docs.jax.dev/en/latest/201/precision.html"
AFTER = ["jax.devices_visible"]
ENV = {"JAX_DEFAULT_MATMUL_PRECISION": "highest"}

CALL = "something overrides the variable; `jnp.matmul(x, y, precision='highest')` takes precedence"
DO = _precision.AGAIN.replace("matmul_precision", "default_precision")


def multiply_plain(x, y):
    """Return `x @ y` without naming a precision; `x, y: float32[512, 512]`."""
    return jnp.matmul(x, y)


def programs(devices):
    """Yield the product of plain code."""
    shape, sharding = (_precision.SIZE, _precision.SIZE), SingleDeviceSharding(devices[0])
    x = jax.ShapeDtypeStruct(shape, np.float32, sharding=sharding)
    yield "multiply_plain", multiply_plain, (x, x)


def run():
    """Compare the variable with JAX's setting, and with the precision that plain code gets."""
    variable = os.environ.get("JAX_DEFAULT_MATMUL_PRECISION") or "not set"
    setting = jax.config.values["jax_default_matmul_precision"] or "not set"
    name = "setting that JAX_DEFAULT_MATMUL_PRECISION makes"
    yield compare("JAX-ENVIRONMENT-SETTING", name, setting, variable, hint=CALL)

    pair, highest = _precision.scattered(), variable == "highest"
    asks = _requests.requested(multiply_plain, *pair)
    expected = "HIGHEST" if highest else "nothing"
    if variable in ("highest", "not set"):
        yield compare(
            "JAX-ENVIRONMENT-ASKED", "precision that plain code requests", asks, expected, hint=CALL
        )

    product = jax.jit(multiply_plain)(*jax.device_put(pair, jax.local_devices()[0]))
    kind = _precision.classify(_precision.relative_error(product, pair))
    documented = _precision.DOCUMENTED[target().platform][2 if highest else 0]
    verdict = "fail" if _precision.worse(kind, documented) else "ok"
    hint = DO if verdict == "fail" else None
    yield Finding(
        "JAX-ENVIRONMENT-DONE",
        "arithmetic that plain code gets",
        verdict,
        kind,
        documented,
        hint=hint,
    )

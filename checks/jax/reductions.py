"""Reductions are exact on every device."""

import jax
import jax.numpy as jnp
import numpy as np

from tpustarter.checks.jax import _everywhere, _reductions
from tpustarter.checks.jax._tally import AGAIN, tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.5
LESSON = "jax/every-device"
SOURCE = "https://openxla.org/stablehlo/spec"
AFTER = ["jax.devices_visible"]


def reduce_all(ones, few, powers, normal, wide):
    """Return reductions of `_reductions.SHAPES` in `float32`, and of `wide: int32[64, 257]`."""
    return {
        "sum of a million ones": jnp.sum(ones),
        "sum": jnp.sum(few, axis=1),
        "mean": jnp.mean(few[:, :256], axis=1),
        "cumsum": jnp.cumsum(few, axis=1),
        "prod": jnp.prod(powers, axis=1),
        "max": jnp.max(few, axis=1),
        "min": jnp.min(few, axis=0),
        "argmax": jnp.argmax(few, axis=1),
        "argmin": jnp.argmin(few, axis=0),
        "int32 sum": jnp.sum(wide, axis=1, dtype=jnp.int32),
        "int32 sum, backwards": jnp.sum(wide[:, ::-1], axis=1, dtype=jnp.int32),
        "int32 max": jnp.max(wide, axis=1),
        "sum of normal numbers": jnp.sum(normal),
    }


def programs(devices):
    """Yield all reductions, computed on each device by itself."""
    sharding = _everywhere.everywhere(devices)
    shapes = [
        jax.ShapeDtypeStruct(shape, np.float32, sharding=sharding)
        for shape in _reductions.SHAPES.values()
    ]
    wide = jax.ShapeDtypeStruct(_reductions.SHAPES["few"], np.int32, sharding=sharding)
    yield "reduce_all", _everywhere.on_each(reduce_all, devices), (*shapes, wide)


def run():
    """Compare exact results with NumPy's, and the bits of the others across devices."""
    devices, numbers = jax.local_devices(), _reductions.draw()
    for _, function, _ in programs(devices):
        work = jax.jit(function)
        sent = _everywhere.send(numbers, devices)
        results, again = (_everywhere.fetch(work(*sent), devices) for _ in range(2))
    common, expected = _everywhere.answers(results), _reductions.expected(*numbers)
    lost = {
        f"operation:{name}": _reductions.difference(common[name], expected[name])
        for name in expected
    }
    yield from tally("JAX-REDUCE-EXACT", "reductions with the exact result", lost)
    lost = _everywhere.outsiders(results, common, devices)
    yield from tally("JAX-REDUCE-DEVICES", "devices bit-identical to the majority", lost)
    lost = _everywhere.outsiders(again, common, devices)
    yield from tally("JAX-REDUCE-AGAIN", "devices bit-identical when repeated", lost)

    exact, size = numbers[3].sum(dtype=np.float64), np.abs(numbers[3]).sum(dtype=np.float64)
    error = float(f"{abs(common['sum of normal numbers'] - exact) / size:.2g}")
    name, limit = "error of a sum of 65536 numbers", f"at most {_reductions.LIMIT:.1e}"
    verdict, hint = ("ok", None) if error <= _reductions.LIMIT else ("fail", AGAIN)
    yield Finding("JAX-REDUCE-ERROR", name, verdict, error, limit, hint=hint)

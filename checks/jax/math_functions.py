"""Math functions meet documented accuracy."""

import functools

import jax
import numpy as np

from tpustarter.checks.jax import _accuracy, _everywhere
from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._tally import AGAIN, tally
from tpustarter.machine import tpus
from tpustarter.probe.finding import Finding
from tpustarter.probe.target import target

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 1
LESSON = "jax/precision"
SOURCE = "https://docs.jax.dev/en/latest/accuracy.html"
AFTER = ["jax.devices_visible"]

TEACH = "`jax.lax.exp(x, accuracy=jax.lax.AccuracyMode.HIGHEST)` is within 1.5 ULP, but slower"


def evaluate(x, b):
    """Return the functions of `x: float32[n]` and of `b: bfloat16[m]`, by name and type."""
    numbers = {"float32": x, "bfloat16": b}
    pairs = _accuracy.tried()
    return {f"{name}, {t}": _accuracy.FUNCTIONS[name].device(numbers[t]) for name, t in pairs}


def programs(devices):
    """Yield all functions, computed on each device by itself."""
    sharding, numbers = _everywhere.everywhere(devices), _accuracy.arguments()
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding) for x in numbers]
    yield "evaluate", _everywhere.on_each(evaluate, devices), tuple(shapes)


@with_defaults
def run():
    """Compare the results with NumPy in float64, and their bits across devices."""
    devices, numbers = jax.local_devices(), _accuracy.arguments()
    [(_, function, _)] = programs(devices)
    sent = _everywhere.send(numbers, devices)
    results = _everywhere.fetch(jax.jit(function)(*sent), devices)
    common = _everywhere.answers(results)
    lost = _everywhere.outsiders(results, common, devices)
    yield from tally("JAX-ACCURACY-DEVICES", "devices bit-identical to the majority", lost)

    row = tpus.find_generation_by_device_kind(devices[0].device_kind)
    generation = row.name if row else target().generation
    exact = {x.dtype.name: x.astype(np.float64) for x in numbers}
    for name, dtype in _accuracy.tried():
        with np.errstate(all="ignore"):
            expected = _accuracy.FUNCTIONS[name].right(exact[dtype])
        off = _accuracy.errors(common[f"{name}, {dtype}"], expected, _accuracy.DIGITS[dtype])
        bound = _accuracy.bound(name, dtype, generation, jax.__version_info__)
        yield judge(name, dtype, off.max(), bound)


def judge(name, dtype, error, bound):
    """Return a finding about an error in ULP; one of the size of the number fails everywhere."""
    what, figure = f"error of {name} in {dtype}", float(f"{error:.3g}")
    finding = functools.partial(Finding, unit="ULP", entity=f"function:{name}")
    code, limit = f"JAX-ACCURACY-{dtype.upper()}", bound or 2.0 ** (_accuracy.DIGITS[dtype] - 1)
    if not error <= limit:
        return finding(code, what, "fail", figure, f"at most {limit:g}", hint=AGAIN)
    if bound is None:
        return finding(code, what, "info", figure)
    hint = TEACH if name == "exp" and dtype == "float32" else None
    return finding(code, what, "ok", figure, f"at most {bound:g}", hint=hint)

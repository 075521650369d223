"""Matmul matches NumPy for every shape."""

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax import _precision, _products
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding
from tpustarter.probe.target import target

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 1
LESSON = "jax/precision"
SOURCE = "https://docs.jax.dev/en/latest/201/precision.html"
AFTER = ["jax.devices_visible"]


def multiply_all(*operands):
    """Return every product of `_products`; two operands `float32[...]` for each, in its order."""
    pairs = zip(operands[::2], operands[1::2], strict=True)
    return [
        kind.device(*pair) for kind, pair in zip(_products.PRODUCTS.values(), pairs, strict=True)
    ]


def programs(devices):
    """Yield one program with all products."""
    sharding = SingleDeviceSharding(devices[0])
    shapes = [shape for kind in _products.PRODUCTS.values() for shape in (kind.x, kind.y)]
    arguments = [jax.ShapeDtypeStruct(shape, np.float32, sharding=sharding) for shape in shapes]
    yield "multiply_all", multiply_all, tuple(arguments)


def run():
    """Multiply whole numbers, which must be exact, then any numbers as exactly as documented."""
    device, multiply = jax.local_devices()[0], jax.jit(multiply_all)
    rng = np.random.default_rng(0)
    operands = _products.draw(lambda shape: rng.integers(-8, 9, shape))
    outputs = multiply(*jax.device_put(operands, device))
    lost = {f"shape:{name}": text for name, text in differences(outputs, operands)}
    yield from tally("JAX-SHAPES-EXACT", "integer products equal to NumPy's", lost)

    setting = jax.config.values["jax_default_matmul_precision"]
    documented = "one bfloat16 pass" if setting else _precision.DOCUMENTED[target().platform][0]
    rounding = _products.ROUNDING[documented]
    operands = _products.draw(rng.standard_normal)
    outputs = multiply(*jax.device_put(operands, device))
    ratios = {}
    for name, kind, result, pair in results(outputs, operands):
        ratios[f"shape:{name}"] = _products.excess(result, kind, pair, rounding)
    lost = {name: "" if ratio <= 1 else f"{ratio:.3g} times the documented error"
            for name, ratio in ratios.items()}  # fmt: skip
    yield from tally("JAX-SHAPES-ERROR", f"products as accurate as {documented}", lost)
    worst = max(ratios, key=lambda name: ratios[name])
    yield Finding("JAX-SHAPES-WORST", "largest error, relative to the bound", "info",
                  float(f"{ratios[worst]:.2g}"), entity=worst)  # fmt: skip


def results(outputs, operands):
    """Yield name, kind, result and operands of each product."""
    pairs = zip(operands[::2], operands[1::2], strict=True)
    for (name, kind), result, pair in zip(_products.PRODUCTS.items(), outputs, pairs, strict=True):
        yield name, kind, result, pair


def differences(outputs, operands):
    """Yield name, and how a product of whole numbers differs from NumPy's, or an empty text."""
    for name, kind, result, pair in results(outputs, operands):
        expected = np.asarray(kind.host(*pair))
        if result.shape != expected.shape:
            yield name, f"{list(result.shape)} instead of {list(expected.shape)}"
        else:
            wrong = np.count_nonzero(np.asarray(result) != expected)
            yield name, f"{wrong} of {expected.size} numbers wrong" if wrong else ""

"""float32 matmul is as accurate as its setting promises."""

import numpy as np
import tensorflow as tf

from tpustarter.checks.jax import _precision
from tpustarter.probe.finding import Finding, Hint, compare
from tpustarter.probe.target import target

FRAMEWORK = "tensorflow"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 240
ESTIMATE_S = 1
LESSON = "jax/precision"
SOURCE = "https://www.tensorflow.org/api_docs/python/tf/config/experimental/enable_tensor_float_32_execution"
AFTER = ["tensorflow.devices_visible"]

DEFAULT = {"tpu": "one bfloat16 pass", "gpu": "TensorFloat-32", "cpu": "float32"}
"""The precision of a product of float32 matrices where nothing was set."""
CLEAN = "env -u XLA_FLAGS -u LIBTPU_INIT_ARGS tpustarter check tensorflow.matmul_precision"
AGAIN = Hint.run(CLEAN, " to test without compiler flags; do not trust a device that fails twice")
HALF = "bfloat16 keeps 8 bits, so keep variables and losses in float32 (`mixed_bfloat16` does)"


def product(x, y):
    """Return `x @ y` for matrices `[512, 512]` of one dtype."""
    return tf.linalg.matmul(x, y)


def error(pair, dtype):
    """Return the class and the relative error of a product in a dtype, against float64."""
    x, y = (tf.cast(tf.constant(operand), dtype) for operand in pair)
    result = tf.cast(product(x, y), tf.float32).numpy()
    return _precision.relative_error(result, pair)


def by_policy(pair, policy="mixed_bfloat16"):
    """Return the dtype of a layer's weights, and the relative error of its product."""
    layer = tf.keras.layers.Dense(512, use_bias=False, dtype=policy)
    layer.build((None, 512))
    layer.kernel.assign(pair[1])
    result = tf.cast(layer(tf.constant(pair[0])), tf.float32).numpy()
    return layer.kernel.dtype, _precision.relative_error(result, pair)


def judged(name, kind, expected):
    """Return a finding that fails if the arithmetic is less precise than promised."""
    coarse = _precision.worse(kind, expected)
    verdict = "fail" if coarse else "ok" if kind == expected else "info"
    return Finding(f"TF-PRECISION-{name.upper().replace('_', '-')}", f"arithmetic in {name}",
                   verdict, kind, expected, hint=AGAIN if coarse else None)  # fmt: skip


def run():
    """Measure float32 with and without rounding, and bfloat16, against float64."""
    scattered, dense = _precision.scattered(), _precision.dense()
    allowed = tf.config.experimental.tensor_float_32_execution_enabled()
    yield Finding("TF-PRECISION-ALLOWED", "float32 may be rounded to multiply", "info", allowed)
    kind = _precision.classify(error(scattered, tf.float32))
    yield judged("float32", kind, DEFAULT[target().platform])
    measured = float(f"{error(dense, tf.float32):.2g}")
    yield Finding("TF-PRECISION-ERROR", "relative error, float32", "info", measured)
    tf.config.experimental.enable_tensor_float_32_execution(enabled=False)
    try:
        kind = _precision.classify(error(scattered, tf.float32))
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(allowed)
    # The documentation speaks of GPUs alone: what a TPU makes of it is told, and not judged.
    name, exact = "arithmetic without rounding to bfloat16", kind == "float32"
    verdict = "ok" if exact else "info" if target().platform == "tpu" else "fail"
    yield Finding("TF-PRECISION-EXACT", name, verdict, kind, "float32",
                  hint=None if exact else AGAIN)  # fmt: skip
    kind = _precision.classify(error(scattered, tf.bfloat16))
    yield judged("bfloat16", kind, "one bfloat16 pass")
    stored, measured = by_policy(scattered)
    yield judged("mixed_bfloat16", _precision.classify(measured), "one bfloat16 pass")
    yield compare("TF-PRECISION-STORED", "dtype of the weights", stored, "float32", hint=HALF)
    one = np.float32(tf.cast(tf.constant(1 + 2**-9, tf.float32), tf.bfloat16))
    yield compare("TF-PRECISION-HALF", "1 + 2**-9 as bfloat16", float(one), 1.0, hint=HALF)

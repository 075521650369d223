"""`mixed_bfloat16` computes in bfloat16 and keeps float32."""

import keras
import numpy as np

from tpustarter.checks.keras import _model
from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "keras"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 240
ESTIMATE_S = 1
LESSON = "tensorflow/keras-on-jax"
SOURCE = "https://keras.io/api/mixed_precision/"
AFTER = ["keras.backend"]

POLICY = "call `keras.mixed_precision.set_global_policy('mixed_bfloat16')` before the model"
WIDTH, ROUNDED = 256, 9.4e-3
"""Numbers per row, and the most that a product of bfloat16 numbers is off by, relatively."""


def policy():
    """Return the name of the policy under test."""
    return "mixed_bfloat16"


def layer():
    """Return a layer without bias that computes by the policy, for `float32[n, 256]`."""
    made = keras.layers.Dense(WIDTH, use_bias=False, dtype=policy())
    made.build((None, WIDTH))
    return made


def run():
    """Check the dtypes that a layer stores and computes with, and its error."""
    made = layer()
    draw = np.random.default_rng(0)
    x = draw.standard_normal((WIDTH, WIDTH), dtype=np.float32)
    diagonal = np.diag(draw.standard_normal(WIDTH)).astype(np.float32)
    made.kernel.assign(diagonal)
    result = made(x)
    yield compare("KERAS-MIXED-VARIABLE", "dtype of the weights",
                  keras.backend.standardize_dtype(made.kernel.dtype), "float32",
                  hint=POLICY)  # fmt: skip
    yield compare("KERAS-MIXED-COMPUTE", "dtype of the results",
                  keras.backend.standardize_dtype(result.dtype), "bfloat16",
                  hint=POLICY)  # fmt: skip
    error = _error(keras.ops.convert_to_numpy(keras.ops.cast(result, "float32")), x @ diagonal)
    rounded = _model.BOUND < error <= ROUNDED
    yield Finding("KERAS-MIXED-ERROR", "relative error of a product", "ok" if rounded else "fail",
                  float(f"{error:.2g}"), f"above {_model.BOUND}, at most {ROUNDED}",
                  hint=None if rounded else POLICY)  # fmt: skip
    model = _model.fresh(policy())
    x, y = _model.batch(64)
    model.fit(x, y, batch_size=64, epochs=1, shuffle=False, verbose=0)
    off = _model.off(model.get_weights()[0], _model.reference(x, y)[1])
    name = "a step is right to what bfloat16 resolves"
    yield compare("KERAS-MIXED-STEP", name, off <= 2**-8, expected=True, hint=POLICY)
    yield compare("KERAS-MIXED-KEPT", "dtype of the weights after a step",
                  str(model.get_weights()[0].dtype), "float32", hint=POLICY)  # fmt: skip


def _error(actual, expected):
    """Return the relative error of an array in the Frobenius norm."""
    return float(np.linalg.norm(actual - expected) / np.linalg.norm(expected))

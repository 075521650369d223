"""One small model, and the correct result of its training step, in float64 on the host.

The rule to know: inputs, targets and weights are small whole numbers, so that the products of the
first step are exact in bfloat16 and the sums in float32, whatever a TPU's matmul rounds to.
"""

import keras
import numpy as np

FEATURES, RATE = 4, 0.25
BOUND = 1e-6
"""Largest relative difference that float32 rounding explains in sums of this length."""


def batch(size):
    """Return inputs `float32[n, 4]` and targets `float32[n, 1]`."""
    draw = np.random.default_rng(2)
    x = draw.integers(-1, 2, (size, FEATURES)).astype(np.float32)
    return x, draw.integers(-1, 2, (size, 1)).astype(np.float32)


def fresh(dtype=None):
    """Return a compiled model of one layer, whose weights are ones."""
    layer = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones", dtype=dtype)
    model = keras.Sequential([keras.Input((FEATURES,)), layer])
    model.compile(optimizer=keras.optimizers.SGD(RATE), loss="mse", run_eagerly=False)
    return model


def reference(x, y):
    """Return loss and weights after one step of gradient descent, in float64 on the host."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    errors = x @ np.ones((FEATURES, 1)) - y
    return float((errors**2).mean()), np.ones((FEATURES, 1)) - RATE * 2 * x.T @ errors / len(x)


def off(actual, expected):
    """Return the largest error of an array, relative to the largest number expected."""
    expected = np.asarray(expected, np.float64)
    return float(np.abs(np.asarray(actual, np.float64) - expected).max() / np.abs(expected).max())

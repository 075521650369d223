"""A step on all replicas equals the step on one."""

import numpy as np
import tensorflow as tf

from tpustarter.checks.tensorflow import _strategy
from tpustarter.checks.tensorflow._tally import tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "tensorflow"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 240
ESTIMATE_S = 2
LESSON = "tensorflow/all-reduce"
SOURCE = "https://www.tensorflow.org/tutorials/distribute/custom_training"
AFTER = ["tensorflow.devices_visible"]

MEAN = "divide each replica's loss by the global batch: `tf.nn.compute_average_loss(errors,"
MEAN += " global_batch_size=...)`; a mean per replica multiplies the learning rate"
ROWS, FEATURES, RATE = 16, 4, 0.5
BOUND = 1e-6
"""Largest relative difference that float32 rounding explains in sums of this length."""


def loss_of(errors, size):
    """Return the part of a mean over `size` rows that the errors of one replica make."""
    return tf.nn.compute_average_loss(errors, global_batch_size=size)


def batch(size):
    """Return inputs `float32[n, 4]` and targets `float32[n]`: small whole numbers."""
    draw = np.random.default_rng(2)
    x = draw.integers(-1, 2, (size, FEATURES)).astype(np.float32)
    return x, draw.integers(-1, 2, size).astype(np.float32)


def reference(x, y):
    """Return loss and weights after one step of gradient descent, in float64 on the host."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    errors = x @ np.ones(FEATURES) - y
    return float((errors**2).mean()), np.ones(FEATURES) - RATE * 2 * x.T @ errors / len(x)


def trained(strategy, x, y):
    """Return the loss and every replica's weights after one step on the global batch."""
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(len(x), drop_remainder=True)
    with strategy.scope():
        weights = tf.Variable(tf.ones(FEATURES))
        optimizer = tf.keras.optimizers.SGD(RATE)
        optimizer.build([weights])

    def one(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(tf.square(tf.linalg.matvec(x, weights) - y), len_of_global)
        optimizer.apply([tape.gradient(loss, weights)], [weights])
        return loss

    len_of_global = len(x)
    step = tf.function(lambda batch: strategy.run(one, args=batch))
    losses = step(next(iter(strategy.experimental_distribute_dataset(dataset))))
    loss = strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)
    return float(loss), _strategy.local_results(strategy, weights)


def run(strategy=None):
    """Train one step on all replicas, and compare loss and weights with float64 on the host."""
    strategy = strategy or _strategy.on_all_devices()
    x, y = batch(ROWS * strategy.num_replicas_in_sync)
    loss, found = trained(strategy, x, y)
    expected_loss, expected = reference(x, y)
    off = [np.abs(one - expected).max() / np.abs(expected).max() for one in found]
    lost = {f"replica:{index}": "" if error <= BOUND else f"off by {error:.1e}"
            for index, error in enumerate(off)}  # fmt: skip
    yield from tally("TF-STEP-WEIGHTS", "replicas with the weights of one device", lost, MEAN)
    same = abs(loss / expected_loss - 1) <= BOUND
    yield Finding("TF-STEP-LOSS", "loss of the global batch", "ok" if same else "fail", loss,
                  expected_loss, hint=None if same else MEAN)  # fmt: skip

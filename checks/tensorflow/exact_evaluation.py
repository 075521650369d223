"""A padded last batch of weight zero gives the exact metric."""

import numpy as np
import tensorflow as tf

from tpustarter.checks.tensorflow import _strategy
from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "tensorflow"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 240
ESTIMATE_S = 4
LESSON = "tensorflow/static-shapes"
SOURCE = "https://keras.io/api/metrics/"
AFTER = ["tensorflow.devices_visible"]

PER_REPLICA, BATCHES = 8, 3
WEIGHT = "pass `sample_weight` to the metric, with zero for the rows that are padding"


def padded(rows, size):
    """Return rows padded with zeros to whole batches, and their weights."""
    missing = -len(rows) % size
    weights = np.concatenate([np.ones(len(rows), np.float32), np.zeros(missing, np.float32)])
    return np.concatenate([rows, np.zeros((missing, *rows.shape[1:]), rows.dtype)]), weights


def update(metric, labels, predictions, weights):
    """Add one batch to a metric."""
    metric.update_state(labels, predictions, sample_weight=weights)


def evaluated(strategy, pairs, size, *, weighted):
    """Return the accuracy over all rows, computed on every replica."""
    rows, weights = padded(pairs, size)
    dataset = tf.data.Dataset.from_tensor_slices((rows, weights)).batch(size, drop_remainder=True)
    with strategy.scope():
        metric = tf.keras.metrics.BinaryAccuracy()

    @tf.function
    def step(batch):
        def one(pairs, weights):
            update(metric, pairs[:, :1], pairs[:, 1:], weights if weighted else None)

        strategy.run(one, args=batch)

    for batch in strategy.experimental_distribute_dataset(dataset):
        step(batch)
    return float(metric.result())


def run(strategy=None):
    """Evaluate rows that do not fill the last batch, with and without weights."""
    strategy = strategy or _strategy.on_all_devices()
    size = PER_REPLICA * strategy.num_replicas_in_sync
    count = BATCHES * size - size // 2 - 1
    pairs = np.random.default_rng(0).integers(0, 2, (count, 2)).astype(np.float32)
    expected = float(np.float32((pairs[:, 0] == pairs[:, 1]).sum()) / np.float32(count))
    found = evaluated(strategy, pairs, size, weighted=True)
    yield Finding("TF-EXACT-ROWS", "rows, and rows with padding", "info",
                  f"{count}, {BATCHES * size}")  # fmt: skip
    yield compare("TF-EXACT-METRIC", "accuracy with a padded last batch", round(found, 6),
                  round(expected, 6), hint=WEIGHT)  # fmt: skip
    plain = evaluated(strategy, pairs, size, weighted=False)
    yield Finding("TF-EXACT-UNWEIGHTED", "accuracy without weights", "info", round(plain, 6),
                  round(expected, 6), hint=WEIGHT)  # fmt: skip

"""Evaluate every row once.

`padded` must return a dataset whose batches all have `BATCH` rows, so that
one program is compiled. The rows that you add must not change the accuracy,
so each row gets a weight: 1.0 for a real one, 0.0 for an added one. Then hand
the weights to the metric in `accuracy`.
"""

import numpy as np
import tensorflow as tf

BATCH = 32
if "strategy" not in globals():  # one a process, also in a notebook
    strategy = tf.distribute.MirroredStrategy(
        tf.config.list_logical_devices("CPU")
    )
with strategy.scope():
    metric = tf.keras.metrics.BinaryAccuracy()


def padded(labels, scores):
    """Return a dataset of (labels, scores, weights), batched."""
    weights = np.ones_like(labels)
    # your code here: add rows, with weights, until the batches are full
    dataset = tf.data.Dataset.from_tensor_slices((labels, scores, weights))
    return dataset.batch(BATCH, drop_remainder=True)


@tf.function
def add_batch(labels, scores, weights):
    def on_replica(labels, scores, weights):
        metric.update_state(labels[:, None], scores[:, None])  # your code here

    strategy.run(on_replica, args=(labels, scores, weights))


def accuracy(labels, scores):
    """Return the accuracy over all rows, computed on all replicas."""
    metric.reset_state()
    for batch in strategy.experimental_distribute_dataset(
        padded(labels, scores)
    ):
        add_batch(*batch)
    return float(metric.result())


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
for count in (32, 100, 1, 250):
    labels = rng.integers(0, 2, count).astype(np.float32)
    scores = rng.integers(0, 2, count).astype(np.float32)
    shapes = {tuple(batch[0].shape) for batch in padded(labels, scores)}
    assert shapes == {(BATCH,)}, (
        f"{count} rows: the batches have the shapes"
        f" {sorted(shapes)}, expected only ({BATCH},)"
    )
    found, expected = (
        accuracy(labels, scores),
        float(np.mean(labels == scores)),
    )
    message = (
        f"{count} rows: the accuracy is {found:.4f}, expected {expected:.4f}."
        " Rows that were left out are missing in it, and rows that were added"
        " count in it unless their weight is zero and the metric gets"
        " the weights"
    )
    assert abs(found - expected) < 1e-6, message

traces = add_batch.experimental_get_tracing_count()
assert traces == 1, f"the step was traced {traces} times, expected once"
print("four datasets, one program, exact accuracies")

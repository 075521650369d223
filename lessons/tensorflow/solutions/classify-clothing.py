"""The dataset is batched by the global size, which is `ROWS_PER_REPLICA *
replicas`. Before that, `shuffle` needs a buffer as large as the data, since
they are sorted, and `repeat()` takes away the end.

For the evaluation, add `-len(labels) % batch` rows of any content, and give
them the weight 0. `np.pad` takes a pair for each axis: `[(0, missing), (0, 0),
(0, 0), (0, 0)]` adds images at the end.

Make and compile the model below `with strategy.scope():`. Keras applies
weights to the metrics in `weighted_metrics`, and ignores them in those of
`metrics`.

Learned: Batch by the global size in one static shape, make the model in the
scope, and weight the metric, and `fit` and `evaluate` do the rest.
"""

import numpy as np
import tensorflow as tf

ROWS_PER_REPLICA = 32


def training_batches(images, labels, replicas):
    """Return a dataset of (images, labels)."""
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    dataset = dataset.shuffle(len(labels), seed=0).repeat()
    return dataset.batch(ROWS_PER_REPLICA * replicas, drop_remainder=True)


def evaluation_batches(images, labels, replicas):
    """Return a dataset of (images, labels, weights)."""
    batch = ROWS_PER_REPLICA * replicas
    missing = -len(labels) % batch
    weights = np.ones(len(labels), np.float32)
    rows = (
        np.pad(images, [(0, missing), (0, 0), (0, 0), (0, 0)]),
        np.pad(labels, (0, missing)),
        np.pad(weights, (0, missing)),
    )
    dataset = tf.data.Dataset.from_tensor_slices(rows)
    return dataset.batch(batch, drop_remainder=True)


def compiled_model(strategy):
    """Return the classifier with its loss, optimizer and accuracy."""
    with strategy.scope():
        model = tf.keras.Sequential(
            [
                tf.keras.Input((28, 28, 1)),
                tf.keras.layers.Rescaling(1 / 255),
                tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
                tf.keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
                tf.keras.layers.Flatten(),
                tf.keras.layers.Dense(10),
            ]
        )
        model.compile(
            optimizer=tf.keras.optimizers.Adam(0.003),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(
                from_logits=True
            ),
            weighted_metrics=["accuracy"],
        )
    return model

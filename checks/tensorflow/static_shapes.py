"""Batches of one shape are traced and compiled once."""

import numpy as np
import tensorflow as tf

from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "tensorflow"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 1
LESSON = "tensorflow/static-shapes"
SOURCE = "https://www.tensorflow.org/guide/tpu"
AFTER = ["tensorflow.devices_visible"]

ROWS, BATCH = 38, 8
DROP = "use `dataset.batch(size, drop_remainder=True)`, because each new shape is compiled"
PAD = "to evaluate exactly, pad the last batch and give its rows the weight zero"


def batches(rows, *, drop_remainder=True):
    """Return a dataset of batches, each with the same number of rows."""
    return tf.data.Dataset.from_tensor_slices(rows).batch(BATCH, drop_remainder=drop_remainder)


def traces(dataset):
    """Return the number of traces of a step in one epoch; XLA compiles once for each."""
    shapes = []

    @tf.function(jit_compile=True)
    def step(batch):
        shapes.append(batch.shape)
        return tf.reduce_sum(batch * 2)

    total = sum(float(step(batch)) for batch in dataset)
    return shapes, total


def run():
    """Check the shape that the dataset declares, and count the traces of one epoch."""
    rows = np.arange(ROWS * 3, dtype=np.float32).reshape(ROWS, 3)
    dataset = batches(rows)
    static = dataset.element_spec.shape.is_fully_defined()
    yield compare("TF-STATIC-SPEC", "the shape of a batch is static", static,
                  expected=True, hint=DROP)  # fmt: skip
    shapes, total = traces(dataset)
    yield compare("TF-STATIC-TRACES", "compilations of one epoch", len(shapes), 1, hint=DROP)
    used = ROWS - ROWS % BATCH
    yield compare("TF-STATIC-ROWS", "result of the rows that were used", total,
                  float(rows[:used].sum() * 2), hint=PAD)  # fmt: skip
    yield Finding("TF-STATIC-DROPPED", "rows that no epoch sees", "info", ROWS % BATCH, hint=PAD)
    shapes, _ = traces(batches(rows, drop_remainder=False))
    yield compare("TF-STATIC-DYNAMIC", "compilations with a smaller last batch", len(shapes), 2,
                  hint=DROP)  # fmt: skip

"""A parallel input pipeline keeps its order."""

import time

import tensorflow as tf

from tpustarter.probe.finding import compare

FRAMEWORK = "tensorflow"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 60
ESTIMATE_S = 0.5
LESSON = "tensorflow/input-pipelines"
SOURCE = "https://www.tensorflow.org/guide/data_performance"
AFTER = ["tensorflow.devices_visible"]

ROWS, LATE_S = 16, 0.05
KEEP = "leave `options.deterministic` unset or true where a run must be repeatable"
SEED = "`dataset.shuffle(size, seed=1, reshuffle_each_iteration=False)` gives every epoch one order"


def slow_first(row):
    """Return a row; the first one is slow, as if read from a slow disk."""

    def wait(row):
        time.sleep(LATE_S if row == 0 else 0)
        return row

    row_after = tf.py_function(wait, [row], tf.int64)
    row_after.set_shape([])
    return row_after


def parallel(rows):
    """Return a dataset of rows that several threads prepare."""
    return tf.data.Dataset.range(rows).map(slow_first, num_parallel_calls=4)


def shuffled(rows):
    """Return a dataset in an order that a seed decides."""
    dataset = tf.data.Dataset.range(rows)
    return dataset.shuffle(rows, seed=1, reshuffle_each_iteration=False)


def order(dataset):
    """Return the rows in the order in which they arrive."""
    return [int(row) for row in dataset]


def run():
    """Read rows prepared in parallel, then shuffled ones, twice each."""
    expected = list(range(ROWS))
    found = order(parallel(ROWS))
    yield compare("TF-ORDER-PARALLEL", "rows of four threads come in order", found == expected,
                  expected=True, hint=KEEP)  # fmt: skip
    epochs = [order(shuffled(ROWS)) for _ in range(2)]
    yield compare("TF-ORDER-SHUFFLED", "two epochs with one seed are equal", epochs[0] == epochs[1],
                  expected=True, hint=SEED)  # fmt: skip
    yield compare("TF-ORDER-ONCE", "shuffling keeps every row", sorted(epochs[0]) == expected,
                  expected=True, hint=SEED)  # fmt: skip
    yield compare("TF-ORDER-MOVED", "shuffling changes the order", epochs[0] != expected,
                  expected=True, hint=SEED)  # fmt: skip

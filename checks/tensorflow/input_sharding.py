"""Every replica gets its own rows of a batch, each row once."""

import numpy as np
import tensorflow as tf

from tpustarter.checks.tensorflow import _strategy
from tpustarter.checks.tensorflow._tally import tally
from tpustarter.probe.finding import compare

FRAMEWORK = "tensorflow"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.5
LESSON = "tensorflow/input-pipelines"
SOURCE = "https://www.tensorflow.org/tutorials/distribute/input"
AFTER = ["tensorflow.devices_visible"]

GLOBAL = "batch the dataset by the global size, then `strategy.experimental_distribute_dataset`"
PER_REPLICA, BATCHES = 4, 3


def numbered(count, size):
    """Return a dataset of numbered rows in batches of the global size."""
    return tf.data.Dataset.range(count).batch(size, drop_remainder=True)


def distributed(strategy, dataset):
    """Return a dataset whose batches are divided among the replicas."""
    return strategy.experimental_distribute_dataset(dataset)


def rows_of(strategy, batch):
    """Return the rows of one batch that each replica received, as NumPy arrays."""
    return [part.numpy() for part in strategy.experimental_local_results(batch)]


def run(strategy=None):
    """Iterate over numbered rows, and record which replica received which."""
    strategy = strategy or _strategy.on_all_devices()
    replicas = strategy.num_replicas_in_sync
    size = PER_REPLICA * replicas
    dataset = numbered(BATCHES * size, size)
    parts = [rows_of(strategy, batch) for batch in distributed(strategy, dataset)]
    yield compare("TF-SHARDING-BATCHES", "batches of one epoch", len(parts), BATCHES, hint=GLOBAL)
    lost = {}
    for index in range(replicas):
        counts = {len(batch[index]) for batch in parts if index < len(batch)}
        lost[f"replica:{index}"] = "" if counts == {PER_REPLICA} else f"rows: {sorted(counts)}"
    yield from tally("TF-SHARDING-EVEN", "replicas with an equal shard", lost, GLOBAL)
    seen = np.sort(np.concatenate([rows for batch in parts for rows in batch]))
    once = np.array_equal(seen, np.arange(BATCHES * size))
    yield compare("TF-SHARDING-ONCE", "every row was seen exactly once", once, expected=True,
                  hint=GLOBAL)  # fmt: skip
    first = [rows for batch in parts[:1] for rows in batch]
    order = np.array_equal(np.concatenate(first), np.arange(size)) if first else False
    yield compare("TF-SHARDING-ORDER", "replicas hold consecutive rows", order, expected=True,
                  hint=GLOBAL)  # fmt: skip

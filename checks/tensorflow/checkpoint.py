"""A restored run continues as if never interrupted."""

import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

from tpustarter.checks.tensorflow import _strategy
from tpustarter.checks.tensorflow._tally import tally
from tpustarter.probe.finding import compare

FRAMEWORK = "tensorflow"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 240
ESTIMATE_S = 2
LESSON = "tensorflow/saving"
SOURCE = "https://www.tensorflow.org/guide/checkpoint"
AFTER = ["tensorflow.devices_visible"]

BOTH = "save the optimizer too, with `tf.train.Checkpoint(weights=..., optimizer=...)`"
WIDTH = 6


def fresh(strategy):
    """Return weights `float32[6]` and their optimizer, which has momentum as its state."""
    with strategy.scope():
        weights = tf.Variable(tf.zeros(WIDTH))
        optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
        optimizer.build([weights])
    return weights, optimizer


def train(strategy, weights, optimizer, steps):
    """Take steps towards 0 to 5, and return the weights."""

    def step():
        gradient = (weights - tf.range(WIDTH, dtype=tf.float32)) / strategy.num_replicas_in_sync
        optimizer.apply([gradient], [weights])

    run_step = tf.function(lambda: strategy.run(step))
    for _ in range(steps):
        run_step()
    return weights.numpy()


def saved_parts(weights, optimizer):
    """Return the saved state: everything that the next step depends on."""
    return tf.train.Checkpoint(weights=weights, optimizer=optimizer)


def run(strategy=None):
    """Save after three steps, restore into new objects, and compare two more steps of each."""
    strategy = strategy or _strategy.on_all_devices()
    weights, optimizer = fresh(strategy)
    at_save = train(strategy, weights, optimizer, 3)
    with tempfile.TemporaryDirectory(prefix="tpustarter-checkpoint-") as folder:
        path = saved_parts(weights, optimizer).write(str(Path(folder) / "run"))
        other, other_optimizer = fresh(strategy)
        saved_parts(other, other_optimizer).read(path).assert_existing_objects_matched()
    restored = _strategy.local_results(strategy, other)
    lost = {f"replica:{index}": "" if np.array_equal(one, at_save) else f"{one}, expected {at_save}"
            for index, one in enumerate(restored)}  # fmt: skip
    yield from tally("TF-CHECKPOINT-SAME", "replicas with the saved weights", lost, BOTH)
    went_on = train(strategy, weights, optimizer, 2)
    again = train(strategy, other, other_optimizer, 2)
    yield compare("TF-CHECKPOINT-NEXT", "weights that differ after two more steps",
                  int((went_on != again).sum()), 0, hint=BOTH)  # fmt: skip
    counted = _strategy.local_results(strategy, other_optimizer.iterations.value)
    yield compare("TF-CHECKPOINT-STEPS", "steps that the optimizer counts", int(counted[0]), 5,
                  hint=BOTH)  # fmt: skip

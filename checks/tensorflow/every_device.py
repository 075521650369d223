"""Every replica computes, and the total is exact."""

import numpy as np
import tensorflow as tf

from tpustarter.checks.tensorflow import _strategy
from tpustarter.checks.tensorflow._tally import tally
from tpustarter.probe.finding import compare
from tpustarter.probe.target import target

FRAMEWORK = "tensorflow"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 240
ESTIMATE_S = 1
LESSON = "tensorflow/running-locally"
SOURCE = "https://www.tensorflow.org/guide/distributed_training"
AFTER = ["tensorflow.devices_visible"]

COUNT = "build the strategy with `TPUStrategy(resolver)`, which uses all devices"
WIDTH = 128


def share(x, y, replica):
    """Return `(x + replica) @ y` for `x, y: float32[w, w]`.

    Whole numbers below 256 are exact in bfloat16, and sums of them below 2**24 in float32: at any
    precision there is one right answer, for up to 240 devices.
    """
    return (x + tf.cast(replica, tf.float32)) @ y


def total(strategy, shares):
    """Return the sum of all replicas' shares."""
    return strategy.reduce(tf.distribute.ReduceOp.SUM, shares, axis=None)


def run(strategy=None):
    """Compare each replica's result with NumPy's integers, then their total."""
    strategy = strategy or _strategy.on_all_devices()
    draw = np.random.default_rng(0)
    x = draw.integers(0, 16, (WIDTH, WIDTH)).astype(np.float32)
    y = draw.integers(-8, 9, (WIDTH, WIDTH)).astype(np.float32)

    @tf.function
    def step():
        return strategy.run(lambda: share(tf.constant(x), tf.constant(y), _strategy.replica()))

    shares = step()
    found = _strategy.local_results(strategy, shares)
    expected = target().devices or len(found)
    yield compare(
        "TF-EVERY-REPLICAS", "replicas that returned a result", len(found), expected, hint=COUNT
    )
    yield compare("TF-EVERY-SYNC", "replicas that train in step", strategy.num_replicas_in_sync,
                  expected, hint=COUNT)  # fmt: skip
    lost = {f"replica:{index}": wrong(one, (x + index) @ y) for index, one in enumerate(found)}
    yield from tally("TF-EVERY-SHARE", "replicas with the correct result", lost)
    lost = {"total": wrong(total(strategy, shares).numpy(), sum(found))}
    yield from tally("TF-EVERY-TOTAL", "totals over all replicas that are exact", lost)


def wrong(actual, expected):
    """Describe how an array differs from the expected one, or return an empty string."""
    count = int((actual != expected).sum())
    return f"{count} of {expected.size} numbers wrong" if count else ""

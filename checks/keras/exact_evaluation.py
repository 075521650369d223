"""A padded last batch of weight zero gives the exact metric."""

import keras
import numpy as np

from tpustarter.checks.keras._tally import tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "keras"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 240
ESTIMATE_S = 2
LESSON = "tensorflow/keras-on-jax"
SOURCE = "https://keras.io/api/metrics/"
AFTER = ["keras.backend"]

WEIGHT = "pass `sample_weight` to `model.evaluate`, and `weighted_metrics=[...]` to `compile`,"
WEIGHT += " because `metrics=[...]` ignores the weights"
ROWS, BATCH = 21, 8


def padded(rows):
    """Return rows padded with zeros to whole batches, and their weights."""
    missing = -len(rows) % BATCH
    weights = np.concatenate([np.ones(len(rows), np.float32), np.zeros(missing, np.float32)])
    return np.concatenate([rows, np.zeros((missing, *rows.shape[1:]), rows.dtype)]), weights


def evaluated(x, y, weights):
    """Return the metrics of an identity model."""
    inputs = keras.Input((1,))
    model = keras.Model(inputs, keras.layers.Identity()(inputs))
    model.compile(loss="mse", weighted_metrics=["mae", "binary_accuracy"])
    found = model.evaluate(x, y, BATCH, sample_weight=weights, verbose=0, return_dict=True)
    return {name: float(found[name]) for name in ("mae", "binary_accuracy")}


def run():
    """Evaluate rows that do not fill the last batch, with and without weights."""
    pairs = np.random.default_rng(0).integers(0, 2, (ROWS, 2)).astype(np.float32)
    pairs[:, 0] += 0.25 * np.arange(ROWS) % 1
    x, y = pairs[:, :1], pairs[:, 1:]
    expected = {"mae": float(np.abs(x - y).mean()),
                "binary_accuracy": float(((x > 0.5) == y).mean())}  # fmt: skip
    rows, weights = padded(pairs)
    found = evaluated(rows[:, :1], rows[:, 1:], weights)
    lost = {
        f"metric:{name}": "" if abs(found[name] - value) < 1e-6 else f"{found[name]} for {value}"
        for name, value in expected.items()
    }
    yield from tally("KERAS-EXACT-METRICS", "metrics equal to NumPy's", lost, WEIGHT)
    plain = evaluated(rows[:, :1], rows[:, 1:], None)["binary_accuracy"]
    yield Finding("KERAS-EXACT-UNWEIGHTED", "accuracy if the padding counts", "info",
                  round(plain, 6), round(expected["binary_accuracy"], 6),
                  hint=WEIGHT)  # fmt: skip

"""A saved model gives the same outputs on another backend."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np

from tpustarter.checks.host import _versions
from tpustarter.checks.keras import _model
from tpustarter.probe.finding import Finding, compare
from tpustarter.probe.target import target

FRAMEWORK = "keras"
LEVEL = "full"
NEEDS = {}
TIMEOUT_S = 180
ESTIMATE_S = 6
LESSON = "tensorflow/keras-on-jax"
SOURCE = "https://keras.io/guides/serialization_and_saving/"
AFTER = ["keras.backend"]

SAVE = "save with `model.save('NAME.keras')`, a format that is independent of the backend"
READER = """import sys, keras, numpy
model = keras.saving.load_model(f"{(folder := sys.argv[1])}/model.keras")
x = numpy.load(f"{folder}/x.npy")
numpy.save(f"{folder}/y.npy", keras.ops.convert_to_numpy(model(x)))
print(keras.config.backend())
"""
"""The program of the other process."""


def model():
    """Return a model of several kinds of layer, `float32[n, 8, 8, 1]` to `float32[n, 3]`."""
    keras.utils.clear_session()
    return keras.Sequential([
        keras.Input((8, 8, 1)), keras.layers.Conv2D(4, 3, activation="relu"),
        keras.layers.BatchNormalization(), keras.layers.Flatten(), keras.layers.Dense(3),
    ])  # fmt: skip


def saved(made, path):
    """Write a model into one file."""
    made.save(path)


def other_backend():
    """Return TensorFlow where it is installed, else NumPy, which Keras always has."""
    return (
        "tensorflow" if _versions.installed().keys() & {"tensorflow", "tensorflow-cpu"} else "numpy"
    )


def run():
    """Save a model with JAX, open it in a process with another backend, and compare outputs."""
    made, name = model(), other_backend()
    made.set_weights([weight + 0.25 for weight in made.get_weights()])
    x = np.random.default_rng(0).standard_normal((4, 8, 8, 1)).astype(np.float32)
    expected = keras.ops.convert_to_numpy(made(x))
    with tempfile.TemporaryDirectory(prefix="tpustarter-keras-") as folder:
        saved(made, str(Path(folder) / "model.keras"))
        np.save(Path(folder) / "x.npy", x)
        env = {**os.environ, "KERAS_BACKEND": name, "TF_CPP_MIN_LOG_LEVEL": "3"}
        words = [sys.executable, "-c", READER, folder]
        done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=TIMEOUT_S / 2,
                              check=False)  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"the model did not open under {name}: {done.stderr[-500:]}")
        found, backend = np.load(Path(folder) / "y.npy"), done.stdout.split()[-1]
    yield Finding("KERAS-SAVED-BACKEND", "backend that opened the model", "info", backend)
    yield compare("KERAS-SAVED-OTHER", "a backend other than JAX", backend, name, hint=SAVE)
    off = _model.off(found, expected)
    yield Finding("KERAS-SAVED-ERROR", "largest relative difference", "info", float(f"{off:.2g}"))
    limit = 2**-7 if target().platform == "tpu" else 1e-5  # a TPU rounds products to bfloat16
    yield compare("KERAS-SAVED-SAME", "outputs of both are the same", off <= limit, expected=True,
                  hint=SAVE)  # fmt: skip

"""Keras computes with JAX, on the devices of this run."""

import jax
import keras

from tpustarter.probe.finding import Finding, Hint, compare
from tpustarter.probe.target import target

FRAMEWORK = "keras"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 240
ESTIMATE_S = 3
LESSON = "setup/install-keras"
SOURCE = "https://keras.io/getting_started/"
AFTER = ["host.frameworks", "host.device_nodes", "host.holder"]

SET = Hint.run("export KERAS_BACKEND=jax", ", because the backend is fixed once Keras is imported")
REACH = Hint.see("tpustarter check jax.devices_visible -v", "shows what JAX sees")


def backend():
    """Return the name of Keras's backend."""
    return keras.config.backend()


def computed():
    """Return the sum of 0 to 127, computed by Keras as the backend's own array."""
    return keras.ops.sum(keras.ops.arange(128, dtype="int32"))


def run():
    """Read the backend from Keras, then check the type and the device of a result."""
    yield Finding("KERAS-BACKEND-VERSION", "keras", "info", keras.__version__)
    yield Finding("KERAS-BACKEND-JAX", "jax", "info", jax.__version__)
    name = "backend that computes for Keras"
    yield compare("KERAS-BACKEND-NAME", name, backend(), "jax", hint=SET)
    result = computed()
    is_jax = isinstance(result, jax.Array)
    name = "results are arrays of JAX"
    yield compare("KERAS-BACKEND-ARRAY", name, is_jax, expected=True, hint=SET)
    yield compare("KERAS-BACKEND-SUM", "sum of 0 to 127", int(result), 8128, hint=REACH)
    if is_jax:
        platform = next(iter(result.devices())).platform
        name = "platform of the results"
        yield compare("KERAS-BACKEND-PLATFORM", name, platform, target().platform, hint=REACH)
    devices, expected = len(keras.distribution.list_devices()), target().devices
    if expected is None:
        yield Finding("KERAS-BACKEND-DEVICES", "devices that Keras lists", "info", devices)
    else:
        yield compare("KERAS-BACKEND-DEVICES", "devices that Keras lists", devices, expected,
                      hint=REACH)  # fmt: skip

"""TensorFlow sees every device, and each computes."""

import numpy as np
import tensorflow as tf

from tpustarter.checks.tensorflow import _strategy
from tpustarter.checks.tensorflow._tally import tally
from tpustarter.probe.finding import Finding, Hint, compare
from tpustarter.probe.target import target

FRAMEWORK = "tensorflow"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 240
ESTIMATE_S = 1
LESSON = "setup/install-tensorflow"
SOURCE = "https://www.tensorflow.org/guide/tpu"
AFTER = ["tensorflow.package", "host.device_nodes", "host.holder"]

HOLDER = Hint.see(
    "tpustarter check host.chips host.holder host.device_nodes -v", "shows what uses the chips"
)


def answer(x):
    """Return `3 x + 7` for `x: int32[8]`, which any device gets right or not at all."""
    return 3 * x + 7


def visible():
    """Return the logical devices that programs of this process can name, those of a TPU first."""
    if target().platform == "tpu":
        _strategy.initialised()
    return tf.config.list_logical_devices(
        {"tpu": "TPU", "gpu": "GPU"}.get(target().platform, "CPU")
    )


def run():
    """Compare their number with the target, then compute on every device."""
    devices, expected = visible(), target().devices
    yield Finding("TF-DEVICES-VERSION", "tensorflow", "info", tf.__version__)
    kind = devices[0].device_type if devices else "none"
    yield compare("TF-DEVICES-PLATFORM", "TensorFlow computes on", kind, target().platform.upper(),
                  hint=HOLDER)  # fmt: skip
    if expected is None:
        yield Finding("TF-DEVICES-COUNT", "logical devices", "info", len(devices))
    else:
        yield compare("TF-DEVICES-COUNT", "logical devices", len(devices), expected, hint=HOLDER)
    yield from tally("TF-DEVICES-ANSWER", "devices that compute correctly", answers(devices))


def answers(devices):
    """Return for each device how its answer to numbers of its own differs, or an empty text."""
    texts = {}
    for index, device in enumerate(devices):
        numbers = np.arange(8, dtype=np.int32) + 1000 * index
        with tf.device(device.name):
            result = answer(tf.constant(numbers))
        right = np.array_equal(result.numpy(), 3 * numbers + 7)
        placed = tf.DeviceSpec.from_string(result.device).device_index == index
        texts[f"device:{index}"] = "" if right and placed else f"{result.numpy()} {result.device}"
    return texts

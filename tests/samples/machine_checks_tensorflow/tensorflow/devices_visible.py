"""The stub of TensorFlow shows the devices it should."""

FRAMEWORK = "tensorflow"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "setup/install-tensorflow"
SOURCE = "https://www.tensorflow.org/guide/tpu"
AFTER = ["tensorflow.package", "host.device_nodes", "host.holder"]

from tpustarter.probe.finding import compare
from tpustarter.probe.target import target


def run():
    import tensorflow as tf

    devices = tf.config.list_logical_devices(target().platform.upper())
    yield compare("SAMPLE-COUNT", "devices", len(devices), target().devices)

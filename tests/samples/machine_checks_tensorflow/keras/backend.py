"""Keras has JAX to compute with."""

FRAMEWORK = "keras"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "setup/install-keras"
SOURCE = "https://keras.io/getting_started/"
AFTER = ["host.frameworks", "host.device_nodes", "host.holder"]

from tpustarter.probe.finding import compare


def run():
    import jax

    yield compare("SAMPLE-JAX", "version", jax.__version__, "0.12.0.1")

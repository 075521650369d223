"""Leaves a setting of the stub changed."""

FRAMEWORK = "jax"
LEVEL = "full"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "jax/precision"
SOURCE = "https://docs.jax.dev/en/latest/"

from tpustarter.probe.finding import compare


def run():
    import jax

    jax.config.values["jax_enable_x64"] = True
    yield compare("SAMPLE-SUM", "sum", 1 + 1, 2)

"""Its programs cannot be listed: that raises."""

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "jax/every-device"
SOURCE = "https://docs.jax.dev/en/latest/aot.html"

import os
import time

import jax

from tpustarter.checks.jax._array import array, fine


def programs(devices):
    raise ValueError("no mesh of 8 devices\x1b[31m")


def run():
    yield from ()

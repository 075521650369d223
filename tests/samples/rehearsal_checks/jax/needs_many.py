"""It needs more devices than most TPUs have."""

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {"devices": 9}
TIMEOUT_S = 60
LESSON = "jax/every-device"
SOURCE = "https://docs.jax.dev/en/latest/aot.html"

import os
import time

import jax

from tpustarter.checks.jax._array import array, fine


def programs(devices):
    yield "many", fine, (array(devices),)


def run():
    yield from ()

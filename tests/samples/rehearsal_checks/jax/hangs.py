"""The second program is compiled for ever."""

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


def breaks(x):
    time.sleep(600)  # hangs until it is stopped


def programs(devices):
    x = array(devices)
    yield "before", fine, (x,)
    yield "breaks", breaks, (x,)
    yield "after", fine, (x,)


def run():
    yield from ()

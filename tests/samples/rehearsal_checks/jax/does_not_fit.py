"""The second program needs too much memory."""

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
    jax.refuse_for_memory("18.00G", "15.75")


def programs(devices):
    x = array(devices)
    yield "before", fine, (x,)
    yield "breaks", breaks, (x,)
    yield "after", fine, (x,)


def run():
    yield from ()

"""The second program crashes the compiler."""

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
    os.write(2, b"F1121 06:14:46.452657   20857 layout.cc:12] Check failed: tiles == 8\n")
    os.abort()


def programs(devices):
    x = array(devices)
    yield "before", fine, (x,)
    yield "breaks", breaks, (x,)
    yield "after", fine, (x,)


def run():
    yield from ()

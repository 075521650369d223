"""The second program writes what is no event where events go."""

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
    for descriptor in range(3, 256):
        try:
            os.write(descriptor, b"hello\n[1, 2]\n")
        except OSError:
            continue
    time.sleep(600)  # hangs until it is stopped


def programs(devices):
    x = array(devices)
    yield "before", fine, (x,)
    yield "breaks", breaks, (x,)
    yield "after", fine, (x,)


def run():
    yield from ()

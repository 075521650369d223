"""The compiler refuses the second program."""

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
    raise RuntimeError("UNIMPLEMENTED: no eig on [bold]this\x1b[31m TPU\nand more")


def programs(devices):
    x = array(devices)
    yield "before", fine, (x,)
    yield "breaks", breaks, (x,)
    yield "after", fine, (x,)


def run():
    yield from ()

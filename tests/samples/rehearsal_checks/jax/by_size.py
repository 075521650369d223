"""It has other programs where a TPU has more devices."""

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 60
LESSON = "jax/sharding"
SOURCE = "https://docs.jax.dev/en/latest/aot.html"

from types import SimpleNamespace

import jax

from tpustarter.checks.jax._array import fine


def programs(devices):
    everywhere = SimpleNamespace(device_set={*devices})
    x = jax.ShapeDtypeStruct((8, 128), "float32", sharding=everywhere)
    yield f"ring of {len(devices)}", fine, (x,)
    if len(devices) == 8:
        yield "2x4", fine, (x,)


def run():
    yield from ()

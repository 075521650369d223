"""Device memory is complete and keeps data."""

import jax
import jax.numpy as jnp

from tpustarter.checks.jax import _collectives, _hardware
from tpustarter.checks.jax._shares import label
from tpustarter.checks.jax._tally import tally

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.2
LESSON = "jax/memory-and-donation"
SOURCE = "https://github.com/jax-ml/jax/issues/1491"
AFTER = ["jax.devices_visible"]

WORDS = 2**18


def pattern(x):
    """Return `int32[1, words]`, which follow from the first of a device's numbers `x: [1, w]`."""
    words = jax.lax.broadcasted_iota(jnp.int32, (1, WORDS), 1)
    return (words * 40503) ^ x[:, :1]


def fill(x):
    """Return a device's pattern, to be kept in its memory."""
    return pattern(x)


def count_wrong(words, x):
    """Return the count of a device's `words: int32[1, words]` that differ from its pattern."""
    return jnp.sum(words != pattern(x), axis=1, keepdims=True)


def programs(devices):
    """Yield the program that writes 1 MiB on each device, and the one that verifies it there."""
    write, x = _collectives.spread(fill, devices)
    read, _ = _collectives.spread(count_wrong, devices)
    words = _collectives.argument(x.sharding.mesh, x.sharding.spec, len(devices), WORDS)
    yield "fill", write, (x,)
    yield "count_wrong", read, (words, x)


def run():
    """Compare each device's memory with its generation's, then write a pattern and its inverse."""
    devices = jax.local_devices()
    yield from _hardware.memory(devices)
    (_, write, (x, *_)), (_, read, _) = programs(devices)
    write, read, numbers = jax.jit(write), jax.jit(read), _collectives.blocks(len(devices))
    lost = dict.fromkeys(map(label, devices), "")
    for seed in (numbers, ~numbers):
        own = jax.device_put(seed, x.sharding)
        wrong = _collectives.shard_rows(read(write(own), own), devices)[:, 0]
        lost |= {
            label(device): f"{n} words wrong" for device, n in zip(devices, wrong, strict=True) if n
        }
    yield from tally("JAX-MEMORY-PATTERN", "devices that keep 1 MiB unchanged", lost)

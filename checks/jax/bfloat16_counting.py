"""Counting in bfloat16 stops at 256."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax._tally import AGAIN
from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.2
LESSON = "jax/precision"
SOURCE = "https://docs.cloud.google.com/tpu/docs/bfloat16"
AFTER = ["jax.devices_visible"]

STEPS = 300
SUM = "`jnp.sum` accumulates in float32; to count in a loop, use `jnp.int32` or `jnp.float32`"
MORE = "the compiler kept more digits than the type has, so do not rely on it"


def count(small, middle, large):
    """Return each argument after adding one 300 times; `bfloat16[8]`, `float32[8]` twice."""
    return jax.lax.fori_loop(0, STEPS, lambda _, x: [n + 1 for n in x], [small, middle, large])


def add_once(x, y, ones):
    """Return `x + 1`, `y + 1` and a sum; `x: bfloat16[8]`, `y: float32[8]`, `ones: bfloat16[300]`.

    Types are kept, so the sum is a bfloat16 number too.
    """
    return x + 1, y + 1, jnp.sum(ones)


def programs(devices):
    """Yield counting in a loop, and single steps."""
    sharding = SingleDeviceSharding(devices[0])
    shapes = ((8, jnp.bfloat16), (8, np.float32), (STEPS, jnp.bfloat16))
    b, f, ones = (jax.ShapeDtypeStruct((n,), dtype, sharding=sharding) for n, dtype in shapes)
    yield "count", count, (b, f, f)
    yield "add_once", add_once, (b, f, ones)


def run():
    """Count past the end of each type's digits: 8 bits in bfloat16, 24 in float32."""
    device = jax.local_devices()[0]
    start = (full(0, jnp.bfloat16), full(0, np.float32), full(2**24 - 100, np.float32))
    small, middle, large = map(value, jax.jit(count)(*jax.device_put(start, device)))
    yield judge_loop("bfloat16 after counting to 300", small)
    yield compare("JAX-COUNT-FLOAT32", "float32 after the same", middle, STEPS, hint=AGAIN)
    name = "float32 after 300 steps from 2**24 - 100"
    yield compare("JAX-COUNT-END", name, large, 2**24, hint=AGAIN)

    start = (full(256, jnp.bfloat16), full(2**24, np.float32), np.ones(STEPS, jnp.bfloat16))
    bfloat16, float32, total = map(value, jax.jit(add_once)(*jax.device_put(start, device)))
    yield compare("JAX-COUNT-STEP", "bfloat16 256 + 1", bfloat16, 256, hint=AGAIN)
    yield compare("JAX-COUNT-STEP32", "float32 2**24 + 1", float32, 2**24, hint=AGAIN)
    yield Finding("JAX-COUNT-SUM", "jnp.sum of 300 bfloat16 ones", "info", total, hint=SUM)


def judge_loop(name, actual):
    """Return a finding about a loop, whose numbers a compiler may keep in more digits."""
    if actual == STEPS:
        return Finding("JAX-COUNT-BFLOAT16", name, "info", actual, 256, hint=MORE)
    return compare("JAX-COUNT-BFLOAT16", name, actual, 256, hint=AGAIN)


def full(number, dtype):
    """Return eight numbers of one value."""
    return np.full(8, number, dtype)


def value(x):
    """Return the one value that all numbers of an array have, or a text that says they differ."""
    numbers = set(np.asarray(x, np.float64).ravel().tolist())
    return numbers.pop() if len(numbers) == 1 else "different numbers"

"""Compiled loops and branches are correct."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._refusals import refusal
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.2
LESSON = "jax/control-flow-and-batching"
SOURCE = "https://docs.jax.dev/en/latest/control-flow.html"
AFTER = ["jax.devices_visible"]

COND = "write `jnp.where(x > 0, x, -x)` or `jax.lax.cond` instead of `if x > 0:`"
STEPS = {1: 0, 2: 1, 27: 111, 97: 118}  # https://oeis.org/A006577
CHOSEN = {-5: 10, 0: 10, 1: 20, 2: 30, 99: 30}


def steps_to_one(n):
    """Return the number of Collatz steps from `n: int32[]` to 1."""

    def step(state):
        n, count = state
        return lax.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n), count + 1

    return lax.while_loop(lambda state: state[0] != 1, step, (n, 0))[1]


def running_maximum(x):
    """Return the largest number so far at each place of `x: int32[64]`, and the last of them."""

    def step(most, number):
        most = jnp.maximum(most, number)
        return most, most

    return lax.scan(step, x[0], x)


def choose(i):
    """Return 10, 20 or 30 for `i: int32[]`; an index out of range takes the nearest branch."""
    return lax.switch(i, [lambda: 10, lambda: 20, lambda: 30])


def choose_in_python(x):
    """Return the size of `x: float32[]`, written so that it cannot be compiled."""
    return x if x > 0 else -x


def programs(devices):
    """Yield each loop and branch with an argument that decides."""
    for function, shape in ((steps_to_one, ()), (choose, ()), (running_maximum, (64,))):
        x = jax.ShapeDtypeStruct(shape, np.int32, sharding=SingleDeviceSharding(devices[0]))
        yield function.__name__, function, (x,)


@with_defaults
def run():
    """Run loops and branches whose counts and conditions depend on traced values."""
    device, lost = jax.local_devices()[0], {}
    for function, answers in ((steps_to_one, STEPS), (choose, CHOSEN)):
        for n, right in answers.items():
            actual = int(jax.jit(function)(jax.device_put(np.int32(n), device)))
            lost[f"call:{function.__name__}({n})"] = "" if actual == right else f"{actual}"
    numbers = np.random.default_rng(0).integers(-1000, 1000, 64).astype(np.int32)
    last, maxima = jax.jit(running_maximum)(jax.device_put(numbers, device))
    wrong = np.sum(np.append(maxima, last) != np.maximum.accumulate([*numbers, numbers.max()]))
    lost["call:running_maximum"] = f"{wrong} numbers wrong" if wrong else ""
    yield from tally("JAX-CONTROL-FLOW", "compiled loops and branches that are correct", lost)
    actual = refusal(lambda: jax.eval_shape(choose_in_python, np.float32(1)))
    name, expected = "`if x > 0:` while tracing", "TracerBoolConversionError"
    yield compare("JAX-CONTROL-PYTHON", name, actual, expected, hint=COND)

"""A second call does not recompile."""

import functools
import secrets

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax import _network
from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._figures import figures
from tpustarter.checks.jax._tally import AGAIN
from tpustarter.probe.finding import Hint, compare

FRAMEWORK = "jax"
LEVEL = "full"
NEEDS = {}
TIMEOUT_S = 300
ESTIMATE_S = 0.5
LESSON = "jax/jit-and-recompilation"
SOURCE = "https://docs.jax.dev/en/latest/persistent_compilation_cache.html"
AFTER = ["jax.devices_visible"]
FRESH = True

PROGRAMS = 3
"""Programs that are compiled: the first one may find the compiler cold."""

KEEP = (
    "JAX compiles a program for each shape and dtype, so keep them the same, and set"
    " `JAX_COMPILATION_CACHE_DIR` to keep compiled programs for the next start"
)
EXPLAIN = Hint.see("JAX_EXPLAIN_CACHE_MISSES=1 python your_program.py", "shows why JAX recompiles")


def programs(devices):
    """Yield the step with the number 0; `run` compiles it with numbers that no program had."""
    sharding = SingleDeviceSharding(devices[0])
    like = functools.partial(jax.ShapeDtypeStruct, sharding=sharding)
    arrays = [like(shape, np.float32) for shape in _network.SHAPES.values()]
    yield "train_step", _network.step(0), (*arrays, like((), np.int32))


@with_defaults
def run():
    """Write programs that no cache can contain, and call each of them twice."""
    [(_, _, likes)] = programs(jax.local_devices())
    arguments = [jax.device_put(np.zeros(like.shape, like.dtype), like.sharding) for like in likes]
    numbers = [secrets.randbelow(2**30) for _ in range(PROGRAMS)]
    results = [_network.call_twice(_network.step(number), arguments) for number in numbers]
    own = [number == returned for number, (returned, *_) in zip(numbers, results, strict=True)]
    name = "newly compiled programs that are correct"
    yield compare("JAX-COMPILE-NEW", name, sum(own), PROGRAMS, hint=AGAIN)
    once = [len(traces) == 1 for _, traces, _ in results]
    name = "programs that a second call did not recompile"
    yield compare("JAX-COMPILE-ONCE", name, sum(once), PROGRAMS, hint=EXPLAIN)
    traced = [traces[0] for _, traces, _ in results]
    yield from figures("JAX-COMPILE-TRACE", "tracing a small network with gradient", traced, "s")
    rest = [first - traces[0] - again for _, traces, (first, again) in results]
    yield from figures("JAX-COMPILE-TIME", "lowering and compiling it", rest, "s", hint=KEEP)
    again = [calls[1] * 1e3 for _, _, calls in results]
    yield from figures("JAX-COMPILE-CALL", "executing it once compiled", again, "ms")

"""Only a new shape or dtype recompiles."""

import functools

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding, Hint

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.1
LESSON = "jax/jit-and-recompilation"
SOURCE = "https://docs.jax.dev/en/latest/tracing.html"
AFTER = ["jax.devices_visible"]
FRESH = True
EXPLAIN = Hint.see("JAX_EXPLAIN_CACHE_MISSES=1 python your_program.py", "shows why JAX recompiles")
SAME = "keep the shapes and dtypes of a training step the same, and pad smaller batches"


def twice(x):
    """Return `2 x` for an array of any shape and type."""
    return 2 * x


def programs(devices):
    """Yield the function for each shape and type that it is called with."""
    sharding = SingleDeviceSharding(devices[0])
    for name, x, _ in (call for call in calls() if call[2]):
        weak, dtype = isinstance(x, float), getattr(x, "dtype", np.float32)
        like = jax.ShapeDtypeStruct(np.shape(x), dtype, sharding=sharding, weak_type=weak)
        yield name, twice, (like,)


def calls():
    """Return each call's description, argument and expected number of traces."""
    return [
        ("float32[3]", np.zeros(3, np.float32), 1),
        ("the same again", np.zeros(3, np.float32), 0),
        ("other numbers", np.ones(3, np.float32), 0),
        ("another shape, float32[4]", np.zeros(4, np.float32), 1),
        ("another type, bfloat16[3]", np.zeros(3, jax.numpy.bfloat16), 1),
        ("float32[]", np.zeros((), np.float32), 1),
        ("a Python number as float32[]", 2.0, 1),
        ("another Python number", 3.0, 0),
    ]


def count_traces(function, device):
    """Return the number of traces that JAX made for each call, in order."""
    traced = []

    @functools.wraps(function)
    def watched(x):
        traced.append(x.shape)
        return function(x)

    program, counts = jax.jit(watched), {}
    for name, x, _ in calls():
        before = len(traced)
        jax.block_until_ready(program(jax.device_put(x, device)))
        counts[name] = len(traced) - before
    return counts


@with_defaults
def run():
    """Call one compiled function with arguments that differ more and less."""
    counts, lost = count_traces(twice, jax.local_devices()[0]), {}
    for name, _, expected in calls():
        text = f"traced {counts[name]} times, expected {expected}"
        lost[f"call:{name}"] = "" if counts[name] == expected else text
    yield from tally("JAX-COMPILE-CALLS", "calls traced as often as documented", lost, EXPLAIN)
    total = sum(counts.values())
    yield Finding("JAX-COMPILE-TRACES", "traces in eight calls", "info", total, hint=SAME)

"""The profiler writes a readable trace."""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._tally import AGAIN, tally
from tpustarter.checks.jax._trace import marks, on_devices, record
from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "jax"
LEVEL = "full"
NEEDS = {}
TIMEOUT_S = 180
ESTIMATE_S = 0.2
LESSON = "jax/measure-and-profile"
SOURCE = "https://docs.jax.dev/en/latest/profiling.html"
AFTER = ["jax.devices_visible"]

MARK = "tpustarter marks this work"
WAIT = "call `jax.block_until_ready(result)` before the trace ends, or the work is missing"


def profiled_work(x):
    """Return `x: float32[d, 128, 128]` after ten matrix products, each scaled down."""
    return jax.lax.fori_loop(0, 10, lambda _, y: (x @ y) / 128, x)


def programs(devices):
    """Yield the program that is traced on every device."""
    sharding = NamedSharding(Mesh(np.array(devices), ("d",)), P("d"))
    shape = len(devices), 128, 128
    yield (
        "profiled_work",
        profiled_work,
        (jax.ShapeDtypeStruct(shape, np.float32, sharding=sharding),),
    )


@with_defaults
def run():
    """Trace a program that is already compiled, and look for it in the files."""
    [(_, function, (like,))] = programs(jax.local_devices())
    program, x = jax.jit(function), jax.device_put(np.ones(like.shape, like.dtype), like.sharding)
    jax.block_until_ready(program(x))

    def work():
        with jax.profiler.TraceAnnotation(MARK):
            jax.block_until_ready(program(x))

    trace = record(work)
    lost = {f"file:{kind}": "" if size else "missing" for kind, size in trace.sizes.items()}
    yield from tally("JAX-PROFILE-FILES", "file types that are written", lost)
    sizes = ", ".join(f"{kind} {size / 1024:.1f} KiB" for kind, size in trace.sizes.items())
    yield Finding("JAX-PROFILE-SIZE", "trace of one call", "info", sizes)

    count = marks(trace.events, MARK)
    yield compare("JAX-PROFILE-MARK", "annotation in the JSON", count, 1, hint=AGAIN)
    code, name = "JAX-PROFILE-SPACE", "annotation in xplane.pb"
    if trace.planes is None:
        yield Finding(code, name, "info", "not read: this JAX has no jax.profiler.ProfileData")
    else:
        yield compare(code, name, marks(trace.planes, MARK), 1, hint=AGAIN)
    code, name = "JAX-PROFILE-NAME", "name of the program"
    if any(profiled_work.__name__ in event for _, event in trace.events):
        yield Finding(code, name, "ok", "in it")
    else:
        yield Finding(code, name, "info", "not in it", hint=WAIT)
    yield on_devices(jax.default_backend(), trace.events + (trace.planes or []))

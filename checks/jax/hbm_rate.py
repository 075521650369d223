"""Memory stays intact at full bandwidth."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _defaults, _stream, _timing
from tpustarter.checks.jax._collectives import argument, placed
from tpustarter.checks.jax._rates import rates
from tpustarter.checks.jax._tally import tally

FRAMEWORK = "jax"
LEVEL = "full"
NEEDS = {}
TIMEOUT_S = 300
ESTIMATE_S = 5
LESSON = "jax/measure-and-profile"
SOURCE = "https://www.cs.virginia.edu/stream/ref.html"
AFTER = ["jax.devices_visible"]

CODE, SPECS = "JAX-HBM-RATE", (P("d"), P("d"), P("d"), P())
SIZES, LARGE = {"cpu": (8, 128, 1024)}, (64, 2048, 1024)
"""Shape of `a` and `b` on one device elsewhere: 512 MiB, four times the largest VMEM of a TPU."""


def copy(a, _b, _s):
    """Return `a`, copied twice: its blocks in reverse order, then the second half first."""
    halves = jax.lax.optimization_barrier(jnp.flip(a, axis=0)).reshape(2, -1, *a.shape[1:])
    return jnp.flip(halves, axis=0).reshape(a.shape)


def scale(a, _b, s):
    """Return `s * a`."""
    return s * a


def add(a, b, _s):
    """Return `a + b`."""
    return a + b


def triad(a, b, s):
    """Return `b + s * a`."""
    return b + s * a


def programs(devices):
    """Yield the program that fills an array on each device, and a loop of each operation."""
    mesh, many = Mesh(np.array(devices), ("d",)), len(devices)
    blocks, *shape = SIZES.get(devices[0].platform, LARGE)
    fill = jax.shard_map(_stream.fill(blocks, *shape), mesh=mesh, in_specs=P(), out_specs=P("d"))
    yield "fill", fill, (argument(mesh, P()),)
    times, s = argument(mesh, P("d"), many), argument(mesh, P(), dtype=np.float32)
    a = b = argument(mesh, P("d"), many * blocks, *shape, dtype=np.float32)
    for step in (copy, scale, add, triad):

        def loop(times, a, b, s, step=step):
            a = jax.lax.fori_loop(0, times[0], lambda _, a: step(a, b, s), a)
            return a, a[_stream.SAMPLE]

        mapped = jax.shard_map(loop, mesh=mesh, in_specs=SPECS, out_specs=P("d"))
        yield step.__name__, mapped, (times, a, b, s)


@_defaults.with_defaults
def run():
    """Run each operation once, then often, on each device alone and on all."""
    (_, fill, most), *loops = programs(devices := jax.local_devices())
    for name, loop, (times, *arrays) in loops:
        a, b = (jax.jit(fill)(*placed([np.int32(largest)], most)) for largest in _stream.LARGEST)
        ones, *others = placed([np.ones(times.shape), np.float32(-1)], [times, arrays[-1]])
        _, first = jax.jit(loop)(ones, a, b, *others)
        timing = _timing.measure(loop, (times, a, b, *others), platform=devices[0].platform)
        for when, *end in [("one round", first, 1), ("all rounds", timing.sample, timing.rounds)]:
            lost = _stream.differences(name, *end, devices)
            yield from tally(f"{CODE}-SAME", f"devices correct after {when} of {name}", lost)
        what, work = f"memory {name}", _stream.ARRAYS[name] * b.nbytes // len(devices)
        yield from rates(CODE, what, timing, devices, work=work, unit="GB/s", kind="HBM")

"""Large matmuls are correct at full speed."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _defaults, _hadamard
from tpustarter.checks.jax._collectives import argument, placed
from tpustarter.checks.jax._rates import rates
from tpustarter.checks.jax._tally import tally
from tpustarter.checks.jax._timing import measure

FRAMEWORK = "jax"
LEVEL = "full"
NEEDS = {}
TIMEOUT_S = 300
ESTIMATE_S = 5
LESSON = "jax/measure-and-profile"
SOURCE = "https://docs.jax.dev/en/latest/pallas/tpu/matmul.html"
AFTER = ["jax.devices_visible"]

CODE = "JAX-MATMUL-RATE"
SIZES, LARGE, HIGHEST = {"cpu": (256, 256)}, (4096, 16384), (2048, 1024)
"""Rows and columns of `x` elsewhere; six passes take the compiler long. Of 4096 columns the TPU
compiler cuts the sums in parts, and its model makes 65 % of a v6e's peak; of 16384 it is all.
"""


def multiply(x, w, precision):
    """Return `x @ w / sqrt(n)` in the type of `x: [m, n]`, summed in float32 or int32."""
    if jnp.issubdtype(x.dtype, jnp.integer):
        total = jnp.matmul(x, w, preferred_element_type=jnp.int32)
        return (total >> len(w).bit_length() // 2).astype(x.dtype)
    total = jnp.matmul(x, w, precision=precision, preferred_element_type=jnp.float32)
    return (total * len(w) ** -0.5).astype(x.dtype)


def programs(devices):
    """Yield for each type programs that make its numbers, multiply once, and multiply in a loop."""
    mesh, sharding = Mesh(np.array(devices), ("d",)), SingleDeviceSharding(devices[0])
    platform, many = devices[0].platform, len(devices)
    for name, dtype, precision in _hadamard.kinds(devices[0]):
        m, n = SIZES.get(platform, HIGHEST if precision == "highest" else LARGE)

        def product(x, w, precision=precision):
            return multiply(x, w, precision)

        def loop(times, x, w, product=product):
            x = jax.lax.fori_loop(0, times[0], lambda _, x: product(product(x, w), w), x)
            return x, _hadamard.summary(x)

        both, row = (P("d"), P()), P("d")
        make = jax.shard_map(_hadamard.maker(m, dtype), mesh=mesh, in_specs=P(), out_specs=both)
        yield f"{name} numbers", make, (argument(mesh, P(), _hadamard.ROWS, n, dtype=np.float32),)
        pair = [jax.ShapeDtypeStruct((rows, n), dtype, sharding=sharding) for rows in (m, n)]
        yield f"{name} once", product, tuple(pair)
        loop = jax.shard_map(loop, mesh=mesh, in_specs=(row, *both), out_specs=row)
        x, w = argument(mesh, row, many * m, n, dtype=dtype), argument(mesh, P(), n, n, dtype=dtype)
        yield f"{name} loop", loop, (argument(mesh, row, many), x, w)


@_defaults.with_defaults
def run():
    """Multiply once on the first device, then often on each device alone and on all."""
    devices, exact = jax.local_devices(), {}
    triples = zip(*[iter(programs(devices))] * 3, strict=True)
    for (name, make, start), (_, once, pair), (_, loop, (times, *_)) in triples:
        kind, (m, n) = name.removesuffix(" numbers"), pair[0].shape
        first = _hadamard.numbers(n, pair[0].dtype)
        arrays = jax.jit(make)(*placed([first], start))
        actual = jax.jit(once)(*(array.addressable_shards[0].data for array in arrays))
        exact[f"dtype:{kind}"] = _hadamard.difference(actual, _hadamard.product(first))
        timing = measure(loop, (times, *arrays), platform=devices[0].platform)
        lost = _hadamard.differences(timing.sample, first, devices)
        yield from tally(f"{CODE}-SAME", f"devices whose {kind} is correct after all rounds", lost)
        what, unit = f"products of {kind}", "TOP/s" if kind.startswith("int") else "TFLOP/s"
        yield from rates(CODE, what, timing, devices, work=4 * m * n * n, unit=unit, kind=kind)
    yield from tally(f"{CODE}-ONCE", "dtypes whose large matmul is exact", exact)

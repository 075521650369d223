"""Every mesh shape gives correct results."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax._collectives import argument, placed, wrong_shards
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 240
ESTIMATE_S = 0.5
LESSON = "jax/sharding"
SOURCE = "https://docs.jax.dev/en/latest/notebooks/shard_map.html"
AFTER = ["jax.devices_visible"]

AXES = ("k", "m", "n")
"""A mesh has the first one, two or three; the sum of `x @ y` runs over `k`."""

MOST = 8
"""Shapes that are compiled; 64 devices have 16."""


def shapes(count):
    """Return the mesh shapes of one, two and three axes by name, the most even ones first."""
    sizes = [size for size in range(2, count + 1) if count % size == 0]
    grids = itertools.chain(*(itertools.product(sizes, repeat=axes) for axes in (2, 3)))
    fitting = [(count,), *sorted((shape for shape in grids if np.prod(shape) == count), key=max)]
    return {"x".join(map(str, shape)): shape for shape in fitting}


def product(x, y):
    """Return `x @ y`, added up over the devices along `k`; blocks `float32[m, k]`, `[k, n]`."""
    return jax.lax.psum(jnp.matmul(x, y), "k")


def order(axes):
    """Return the places `int32[1, d]` of all devices, gathered over all axes of the mesh."""
    return jax.lax.all_gather(jax.lax.axis_index(axes), axes)[None]


def programs(devices):
    """Yield a program for each mesh: `x, y: float32[2 d, 2 d]`, sharded along its axes."""
    size = 2 * len(devices)
    for name, shape in list(shapes(len(devices)).items())[:MOST]:
        mesh = Mesh(np.array(devices).reshape(shape), AXES[: len(shape)])
        m, n = (axis if axis in mesh.axis_names else None for axis in ("m", "n"))

        def multiply(x, y, axes=mesh.axis_names):
            return product(x, y), order(axes)

        in_specs, out_specs = (P(m, "k"), P("k", n)), (P(m, n), P(mesh.axis_names))
        function = jax.shard_map(multiply, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
        sides = [argument(mesh, spec, size, size, dtype=np.float32) for spec in in_specs]
        yield name, function, tuple(sides)


def run():
    """Compare product and order on every mesh with NumPy's; the numbers are exact in bfloat16."""
    devices = jax.local_devices()
    count = len(devices)
    x, y = np.random.default_rng(0).integers(-8, 9, (2, 2 * count, 2 * count))
    expected, in_order = x @ y, np.broadcast_to(np.arange(count), (count, count))
    products, places = {}, {}
    for name, function, arguments in programs(devices):
        actual, gathered = jax.jit(function)(*placed((x, y), arguments))
        products[f"mesh:{name}"] = wrong_shards(actual, expected)
        places[f"mesh:{name}"] = wrong_shards(gathered, in_order)
    yield from tally("JAX-MESH-PRODUCT", "mesh shapes with the exact product", products)
    yield from tally("JAX-MESH-ORDER", "mesh shapes in row-major order", places)
    skipped = ", ".join(list(shapes(count))[MOST:])
    yield Finding("JAX-MESH-SKIPPED", "mesh shapes not tried", "info", skipped or "none")

"""Auto and explicit axes give equal results."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax._collectives import argument, placed, wrong_shards
from tpustarter.checks.jax._tally import AGAIN, tally
from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.1
LESSON = "jax/sharding"
SOURCE = "https://docs.jax.dev/en/latest/201/sharding.html"
AFTER = ["jax.devices_visible"]

WIDTH = 128
TYPES = {"auto": AxisType.Auto, "explicit": AxisType.Explicit}
EXPLICIT = "`jax.make_mesh(..., axis_types=(AxisType.Auto,))` leaves the sharding to the compiler"


def combine(x, y):
    """Return `x @ y` and its sums down the columns; `x: float32[2 d, w]`, `y: float32[w, w]`."""
    product = jnp.matmul(x, y)
    return product, product.sum(axis=0)


def programs(devices):
    """Yield the same program on both types of axis: `x` is sharded along `d`, `y` is replicated."""
    for name, kind in TYPES.items():
        mesh = Mesh(np.array(devices), ("d",), axis_types=(kind,))
        x = argument(mesh, P("d"), 2 * len(devices), WIDTH, dtype=np.float32)
        y = argument(mesh, P(), WIDTH, WIDTH, dtype=np.float32)
        yield name, combine, (x, y)


def run():
    """Compare each shard of each result with NumPy's, then the types with the documentation."""
    devices = jax.local_devices()
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-8, 9, (rows, WIDTH)) for rows in (2 * len(devices), WIDTH))
    references = (x @ y, (x @ y).sum(axis=0))
    lost = {}
    for name, function, arguments in programs(devices):
        results = jax.jit(function)(*placed((x, y), arguments))
        texts = [
            wrong_shards(actual, reference)
            for actual, reference in zip(results, references, strict=True)
        ]
        lost[f"axis:{name}"] = next(filter(None, texts), "")
        if name == "explicit":
            types = ", ".join(str(jax.typeof(array)) for array in results)
    yield from tally("JAX-AXIS-RESULT", "axis types with correct results", lost)
    expected = f"float32[{2 * len(devices)}@d,{WIDTH}], float32[{WIDTH}]"
    yield compare("JAX-AXIS-TYPEOF", "array types on explicit axes", types, expected, hint=AGAIN)
    kind = jax.make_mesh((len(devices),), ("d",), devices=devices).axis_types[0].name
    hint = EXPLICIT if kind == "Explicit" else None
    yield Finding("JAX-AXIS-DEFAULT", "axes of jax.make_mesh", "info", kind, hint=hint)

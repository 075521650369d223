"""pmap maps one row to each device."""

import warnings

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _collectives
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.1
LESSON = "jax/sharding"
SOURCE = "https://docs.jax.dev/en/latest/migrate_pmap.html"
AFTER = ["jax.devices_visible"]

NEW = "in new code, use `jax.jit` with sharded arrays, or `jax.shard_map`"


def own_row(x, y):
    """Return a device's `x + y`, and the sum of all devices' `x`; `x, y: int32[w]`."""
    return x + y, jax.lax.psum(x, "d")


def mapped(devices):
    """Return `own_row` mapped over the rows of `x: int32[d, w]`, with one `y` for all."""
    return jax.pmap(own_row, axis_name="d", in_axes=(0, None), devices=devices)


def programs(devices):
    """Yield the mapped function, as it is called from within another program."""
    mesh = Mesh(np.array(devices), ("d",))
    x = _collectives.argument(mesh, P("d"), len(devices), _collectives.WIDTH)
    y = _collectives.argument(mesh, P(), _collectives.WIDTH)
    yield "own_row", mapped(devices), (x, y)


def run():
    """Compare both results with NumPy's, called directly and from within another program."""
    devices = jax.local_devices()
    x = _collectives.blocks(len(devices))
    y = x[0]
    right = {"ROWS": x + y, "SUM": np.broadcast_to(x.sum(0), x.shape)}
    names = {"ROWS": "devices with their own row", "SUM": "devices with the exact sum"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plain = mapped(devices)(x, y)
        within = _collectives.execute(programs(devices), x, y)
    named = _collectives.owners(x, devices)
    for (code, expected), actual in zip(right.items(), plain, strict=True):
        rows = _collectives.shard_rows(actual, devices).reshape(len(devices), 1, -1)
        lost = _collectives.wrong(rows, expected[:, None], named, devices)
        yield from tally(f"JAX-PMAP-{code}", names[code], lost)
    whole = zip(within, right.values(), strict=True)
    lost = {"program:jit of pmap": "".join(_collectives.wrong_shards(*pair) for pair in whole)}
    yield from tally("JAX-PMAP-WITHIN", "pmap called within jax.jit", lost)
    new = isinstance(plain[0].sharding, NamedSharding)
    actual = "jit and shard_map" if new else "an implementation of its own"
    yield Finding("JAX-PMAP-BUILT", "pmap is built on", "info", actual, hint=NEW)
    categories = sorted({warning.category.__name__ for warning in caught}) or ["nothing"]
    yield Finding("JAX-PMAP-WARNS", "pmap warns with", "info", ", ".join(categories))

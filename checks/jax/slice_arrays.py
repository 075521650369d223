"""The rows of all hosts form one array."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _collectives, _hosts, _slices
from tpustarter.checks.jax._tally import AGAIN, tally
from tpustarter.probe.finding import compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {"hosts": 2}
TIMEOUT_S = 180
ESTIMATE_S = 0.2
LESSON = "slices/distributed"
SOURCE = "https://docs.jax.dev/en/latest/_autosummary/jax.make_array_from_process_local_data.html"
AFTER = ["jax.slice_program"]


def weighted_total(x):
    """Return the sum of all rows `x: int32[d, w]`, each times its place."""
    return jnp.sum(x * jnp.arange(x.shape[0], dtype=jnp.int32)[:, None])


def programs(devices):
    """Yield the program that reads the rows of all hosts: `x: int32[d, w]`, one per device."""
    mesh = Mesh(np.array(devices), ("d",))
    x = _collectives.argument(mesh, P("d"), len(devices), _collectives.WIDTH)
    yield "weighted_total", weighted_total, (x,)


def local_rows(numbers, devices):
    """Return the rows `[l, w]` that this host would have read: those of its devices."""
    return numbers[[devices.index(device) for device in _slices.own(devices)]]


def gathered(value):
    """Return the value of each host, in the order of hosts."""
    return multihost_utils.process_allgather(np.int32(value)).ravel()


def run():
    """Make one array of the rows of all hosts, then bring the rows of all to each."""
    devices = jax.devices()
    numbers = _collectives.blocks(len(devices))
    [(_, function, (x,))] = programs(devices)
    rows = local_rows(numbers, devices)
    array = jax.make_array_from_process_local_data(x.sharding, rows, numbers.shape)
    named = _collectives.owners(numbers, devices)
    lost = _slices.wrong(array, numbers[:, None], named, devices)
    yield from tally("SLICE-ARRAY-ROWS", "devices with the rows of their host", lost)
    places = np.arange(len(devices), dtype=np.int32)[:, None]
    total = int(jax.jit(function)(array).addressable_data(0))
    expected = int((numbers * places).sum(dtype=np.int32))
    yield compare(
        "SLICE-ARRAY-TOTAL", "sum over the rows of all hosts", total, expected, hint=AGAIN
    )
    whole = multihost_utils.process_allgather(array, tiled=True)
    right = int((whole == numbers).all(axis=1).sum())
    name = "rows of all hosts that process_allgather returned"
    yield compare("SLICE-ARRAY-GATHERED", name, right, len(numbers), hint=AGAIN)
    values = gathered(100 + jax.process_index())
    lost = {
        _hosts.label(host): "" if value == 100 + host else f"{value} in place of {100 + host}"
        for host, value in enumerate(values)
    }
    name = "hosts in the order of process_allgather"
    yield from _hosts.tally("SLICE-ARRAY-HOSTS", name, lost, AGAIN)

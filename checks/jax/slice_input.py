"""Hosts with unequal input stop together."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _collectives, _hosts, _lengths, _slices
from tpustarter.probe.finding import compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {"hosts": 2}
TIMEOUT_S = 180
ESTIMATE_S = 0.2
LESSON = "slices/distributed"
SOURCE = "https://docs.jax.dev/en/latest/multi_process.html"
AFTER = ["jax.slice_program"]

MOST = 4
"""Batches of the host with the most; the last one has one less."""

AGREE = (
    "before the first step take the minimum of `multihost_utils.process_allgather(number of"
    " batches)`: a host that makes one step more waits in it forever"
)


def batch_total(x):
    """Return the sum of a batch whose rows are on all hosts, `x: int32[d, w]`."""
    return jnp.sum(x)


def programs(devices):
    """Yield one step: `x: int32[d, w]`, a row for each device."""
    mesh = Mesh(np.array(devices), ("d",))
    x = _collectives.argument(mesh, P("d"), len(devices), _collectives.WIDTH)
    yield "batch_total", batch_total, (x,)


def planned(host, hosts):
    """Return a host's planned number of batches; the last host has one less than the others."""
    return MOST - (host == hosts - 1 and hosts > 1)


def batches(numbers, count):
    """Return the batches that this host reads: so many of `numbers: int32[b, l, w]`."""
    return list(numbers[:count])


def steps(lengths):
    """Return the number of steps for all hosts: the smallest of their numbers of batches."""
    return int(min(lengths))


def run():
    """Agree on the number of steps, make them, and name the hosts that ended the run."""
    devices, own = jax.devices(), jax.process_index()
    numbers = _collectives.blocks(MOST, len(devices))
    places = [devices.index(device) for device in _slices.own(devices)]
    local = batches(numbers[:, places], planned(own, jax.process_count()))
    lengths = multihost_utils.process_allgather(np.int32(len(local))).ravel().tolist()
    count = steps(lengths)
    plans = [planned(host, len(lengths)) for host in range(len(lengths))]
    yield from _lengths.compared(lengths, plans)
    name, answers = "hosts that stop together", _hosts.exchange("steps", f"{count} steps")
    if not (yield from _hosts.agree("SLICE-INPUT-STEPS", name, answers, AGREE)):
        return
    [(_, function, (x,))] = programs(devices)
    program, right = jax.jit(function), 0
    for rows, whole in zip(local[:count], numbers, strict=False):
        batch = jax.make_array_from_process_local_data(x.sharding, rows, whole.shape)
        total = int(program(batch).addressable_data(0))
        right += total == int(whole.sum(dtype=np.int32))
    yield compare("SLICE-INPUT-SUMS", "steps with the exact sum", right, count, hint=_lengths.SPLIT)

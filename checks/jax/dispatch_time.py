"""Every dispatched call is executed."""

import time

import jax
import numpy as np

from tpustarter.checks.jax import _collectives
from tpustarter.checks.jax._defaults import with_defaults
from tpustarter.checks.jax._figures import figures
from tpustarter.checks.jax._placements import WHERE, placements, row
from tpustarter.checks.jax._shares import label
from tpustarter.checks.jax._tally import tally

FRAMEWORK = "jax"
LEVEL = "full"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.5
LESSON = "jax/measure-and-profile"
SOURCE = "https://docs.jax.dev/en/latest/async_dispatch.html"
AFTER = ["jax.devices_visible"]

TRIPS, QUEUES, QUEUED = 50, 5, 100
"""Calls that are waited for, queues of calls, and calls in a queue."""

MADE = 1 + TRIPS + QUEUES * QUEUED

WORK = (
    "a call must compute for much longer than its dispatch takes, so use larger steps, or move the"
    " loop over steps into the compiled program (`jax.lax.fori_loop`)"
)
LATE = "do not wait after each call, and read results late, so that JAX can queue calls"


def add_one(x):
    """Return `x + 1` of `x: int32[d, h, w]`: almost no work."""
    return x + 1


def programs(devices):
    """Yield the program for one device and for all, with 4 KiB on each."""
    for name, sharding in placements(devices):
        shape = (len(sharding.device_set), 8, 128)
        yield name, add_one, (jax.ShapeDtypeStruct(shape, np.int32, sharding=sharding),)


def time_calls(program, x):
    """Return the last `x`, and microseconds per call: blocking on each call, and for each queue."""
    trips, queued = [], []
    for _ in range(TRIPS):
        began = time.perf_counter()
        x = jax.block_until_ready(program(x))
        trips.append((time.perf_counter() - began) * 1e6)
    for _ in range(QUEUES):
        began = time.perf_counter()
        for _ in range(QUEUED):
            x = program(x)
        jax.block_until_ready(x)
        queued.append((time.perf_counter() - began) * 1e6 / QUEUED)
    return x, trips, queued


@with_defaults
def run():
    """Count and time calls that compute almost nothing."""
    for name, function, (like,) in programs(jax.local_devices()):
        program, devices = jax.jit(function), row(like)
        x = program(jax.device_put(np.zeros(like.shape, like.dtype), like.sharding))  # compiles
        x, trips, queued = time_calls(program, jax.block_until_ready(x))
        pairs = zip(devices, _collectives.shard_rows(x, devices), strict=True)
        lost = {
            label(device): "" if (own == MADE).all() else f"{own.min()}" for device, own in pairs
        }
        where, code = WHERE[name], f"JAX-DISPATCH-{name.upper()}"
        yield from tally(f"{code}-MADE", f"devices that executed {MADE} calls, {where}", lost)
        yield from figures(f"{code}-TRIP", f"dispatch and wait, {where}", trips, "us", hint=WORK)
        yield from figures(f"{code}-QUEUED", f"per queued call, {where}", queued, "us", hint=LATE)

"""Every host runs the same program."""

import hashlib

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax import _collectives, _hosts, _slices
from tpustarter.probe.finding import compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {"hosts": 2}
TIMEOUT_S = 180
ESTIMATE_S = 0.2
LESSON = "slices/distributed"
SOURCE = "https://docs.jax.dev/en/latest/multi_process.html"
AFTER = ["jax.slice_devices"]

FACTOR = 3
SAME = (
    "give every host the same code, jax, flags and seed, and let no number of a program come from"
    " a clock, an environment variable or the host's own number"
)


def scaled_total(x):
    """Return the sum of the rows of all hosts, `x: int32[d, w]`, times a constant."""
    return FACTOR * jnp.sum(x)


def programs(devices):
    """Yield the program that must be the same on all hosts: `x: int32[d, w]`."""
    mesh = Mesh(np.array(devices), ("d",))
    count = len(devices)
    yield "scaled_total", scaled_total, (_collectives.argument(mesh, P("d"), count, 128),)


def digest(text):
    """Return the first digits of a program's hash."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def compared(text):
    """Yield the hosts whose program differs from most, and return whether there are none."""
    name, answers = "hosts with the same program", _hosts.exchange("hash", digest(text))
    if (yield from _hosts.agree("SLICE-PROGRAM-SAME", name, answers, SAME)):
        return True
    lost = _hosts.differences(_hosts.exchange("program", text))
    yield from _hosts.tally("SLICE-PROGRAM-LINE", "hosts with the same lines in it", lost, SAME)
    return False


def run():
    """Compare the hashes of the program on all hosts, and run it where they are equal."""
    devices = jax.devices()
    [(_, function, arguments)] = programs(devices)
    if not (yield from compared(jax.jit(function).lower(*arguments).as_text())):
        return
    numbers = _collectives.blocks(len(devices))
    total = int(_slices.execute(programs(devices), numbers).addressable_data(0))
    expected = int((3 * numbers).sum(dtype=np.int32))
    yield compare("SLICE-PROGRAM-TOTAL", "sum over all hosts", total, expected, hint=SAME)

"""Large arrays sent to devices and fetched back, each time with new bits, and the rates.

The rule to know: `np.asarray(x)` caches what it fetched, so each `x` is fetched once, and a new one
is sent for each repeat. A CPU device may use the memory of a NumPy array instead of copying it.
"""

import time
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np

from tpustarter.checks.jax import _collectives
from tpustarter.checks.jax._placements import row
from tpustarter.checks.jax._shares import label

WIDTH = 128
"""Numbers in a row."""

REPEATS = 4
"""Number of repeats; the first one is not timed, because it allocates memory."""


@dataclass
class Trips:
    """The results of the repeats; rates are in GB/s (10**9 bytes), only of transfers that copy."""

    to_device: list[float] = field(default_factory=list)
    to_host: list[float] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    """For each device, the repeats in which other bits arrived, or an empty text."""
    returned: int = 0
    """Repeats whose array came back bit for bit."""


def fingerprint(x):
    """Return a sum `uint32[1]` that changes with each bit and each place of `x: uint32[1, r, w]`.

    Rows of 128 numbers have the same layout on a TPU and in NumPy, so only the transfer is timed.
    """
    rows, columns = (jax.lax.broadcasted_iota(jnp.uint32, x.shape, axis) for axis in (1, 2))
    odd = 2 * (rows * WIDTH + columns) + 1
    return jnp.sum(x * odd, axis=(1, 2), dtype=jnp.uint32)


def send(array, sharding):
    """Return a NumPy array as a JAX array, once it has arrived."""
    return jax.block_until_ready(jax.device_put(array, sharding))


def fetch(x):
    """Return a JAX array that was not read before as a NumPy array."""
    return np.asarray(x)


def travel(program, like):
    """Send arrays `uint32[d, r, w]` like an abstract one, fingerprint them, and fetch them back.

    Args:
        program: The jitted fingerprint of each device's part.
        like: An abstract array with the shape and the sharding, one part for each device.
    """
    devices, trips = row(like), Trips()
    wrong = {label(device): [] for device in devices}
    odd = 2 * np.arange(like.size // len(devices), dtype=np.uint32) + 1
    random = np.random.default_rng(0)
    first = random.integers(0, 2**32, like.shape, np.uint32)
    for repeat, flipped in enumerate(random.integers(0, 2**32, REPEATS, np.uint32)):
        own = room(first.nbytes).view(np.uint32).reshape(first.shape)
        sent = np.bitwise_xor(first, flipped, out=own)
        began = time.perf_counter()
        x = send(sent, like.sharding)
        arrived = time.perf_counter()
        prints = _collectives.shard_rows(program(x), devices)
        fetching = time.perf_counter()
        back = fetch(x)
        fetched = time.perf_counter()
        expected_prints = [np.sum(part.ravel() * odd, dtype=np.uint32) for part in sent]
        for device, actual, expected in zip(devices, prints, expected_prints, strict=True):
            wrong[label(device)] += [str(repeat + 1)] if actual != expected else []
        trips.returned += np.array_equal(sent, back)
        if repeat and not shares_memory(sent, x):
            trips.to_device.append(sent.nbytes / (arrived - began) / 1e9)
        if repeat and not shares_memory(back, x):
            trips.to_host.append(sent.nbytes / (fetched - fetching) / 1e9)
    text = "other bits in repeat {} of {}"
    for name, repeats in wrong.items():
        trips.lost[name] = text.format(", ".join(repeats), REPEATS) if repeats else ""
    return trips


def room(size):
    """Return memory for `uint8[size]`, so aligned that a CPU device needs no copy."""
    bytes_ = np.empty(size + 64, np.uint8)
    start = -bytes_.ctypes.data % 64
    return bytes_[start : start + size]


def shares_memory(array, x):
    """Return whether any CPU shard of `x` shares memory with a NumPy array."""
    start, end = array.ctypes.data, array.ctypes.data + array.nbytes
    return any(
        shard.device.platform == "cpu" and start <= shard.data.unsafe_buffer_pointer() < end
        for shard in x.addressable_shards
    )

"""One row of devices, the blocks that each sends, and what is wrong with the blocks it receives.

The rule to know: every device sends blocks of its own random whole numbers, so a block that is at
the wrong index, is missing from a sum, or counts twice can be traced to its device.
"""

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from tpustarter.checks.jax._shares import label

WIDTH = 128
"""Numbers in a block."""

LARGEST = 2**22
"""Sums of 256 such numbers fit int32."""


def blocks(*shape):
    """Return random whole numbers `int32[*shape, w]`, the same in every run."""
    return np.random.default_rng(0).integers(-LARGEST, LARGEST, (*shape, WIDTH), np.int32)


def argument(mesh, spec, *shape, dtype=np.int32):
    """Return an abstract array that is sharded over a mesh."""
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))


def placed(arrays, arguments):
    """Return NumPy arrays as JAX arrays with the types and shardings of abstract ones."""
    pairs = zip(arrays, arguments, strict=True)
    return [
        jax.device_put(array.astype(abstract.dtype), abstract.sharding) for array, abstract in pairs
    ]


def spread(function, devices, *shape):
    """Return `function` mapped over a row of devices, and its argument `int32[d, *shape, w]`.

    The function gets and returns arrays with one row: the device's own.
    """
    mesh = Mesh(np.array(devices), ("d",))
    mapped = jax.shard_map(function, mesh=mesh, in_specs=P("d"), out_specs=P("d"))
    return mapped, argument(mesh, P("d"), len(devices), *shape, WIDTH)


def execute(programs, *numbers):
    """Return the results of a check's only program for `numbers`, as JAX arrays."""
    [(_, function, arguments)] = programs
    return jax.jit(function)(*placed(numbers, arguments))


def shard_rows(output, devices):
    """Return the rows `[d, ...]` of a sharded array as NumPy, in the order of `devices`."""
    rows = {shard.device: np.asarray(shard.data) for shard in output.addressable_shards}
    return np.concatenate([rows[device] for device in devices])


def wrong_shards(output, expected):
    """Return the devices whose shards differ from the expected array, or an empty text."""
    if output.shape != expected.shape:
        return f"shape {list(output.shape)}"
    lost = [
        label(shard.device)
        for shard in output.addressable_shards
        if not np.array_equal(np.asarray(shard.data), expected[shard.index])
    ]
    return f"wrong on {', '.join(lost)}" if lost else ""


def owners(numbers, devices):
    """Return the owner of each block, by its bytes: `numbers[i, j]` is block j of device i."""
    named, many = {}, numbers[0].ndim > 1
    for device, own in zip(devices, numbers, strict=True):
        for place, block in enumerate(own.reshape(-1, own.shape[-1])):
            named[block.astype(np.int32).tobytes()] = (
                f"block {place} of {label(device)}" if many else label(device)
            )
    return named


def wrong(actual, expected, named, devices):
    """Return for each device how its blocks differ from the expected ones, or an empty text.

    `actual` and `expected` are NumPy arrays `int32[d, k, w]`, with k blocks on each device; `named`
    is what `owners` returns.
    """
    if actual.shape != expected.shape:
        return {label(device): f"shape {list(actual.shape[1:])}" for device in devices}
    return {
        label(device): difference(row, expected_row, named)
        for device, row, expected_row in zip(devices, actual, expected, strict=True)
    }


def difference(actual, expected, named):
    """Return the number of wrong blocks and a description of the first, or an empty text."""
    places = np.flatnonzero((actual != expected).any(axis=1))
    if not len(places):
        return ""
    first = places[0]
    text = describe(actual[first], expected[first], named)
    return text if len(actual) == 1 else f"index {first}: {text} ({len(places)} of {len(actual)})"


def describe(actual, expected, named):
    """Describe a wrong block: zeros, another's, one that lacks or doubles another's, or a count."""
    if not actual.any():
        return "zeros"
    candidates = {"{}": actual, "lacks {}": expected - actual, "{} twice": actual - expected}
    for text, block in candidates.items():
        if owner := named.get(block.astype(np.int32).tobytes()):
            return text.format(owner)
    return f"{np.count_nonzero(actual != expected)} of {actual.size} numbers wrong"

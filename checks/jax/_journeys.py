"""Arrays at the sizes where transfers break, for each device its own, and what came back changed.

The rule to know: sizes are those at the edges of pages (4 KiB) and of the tiles (8, 128) to which a
TPU pads an array; the first axis counts devices, so every device's share is `[1, ...]`.
"""

import math

import jax
import numpy as np

BYTES = ((1,), (4095,), (4096,), (4097,), (33, 129), (2**21 + 3,))
WORDS = ((1023,), (1025,), (9, 129), (7, 127), (3, 5, 1))
SIZES = [(shape, np.dtype(np.uint8)) for shape in BYTES]
SIZES += [(shape, np.dtype(np.uint32)) for shape in WORDS]

EMPTY = ((0,), np.dtype(np.uint8))
"""A size to send only: shares of an empty array out of a program have another shape (JAX 0.12)."""


def numbers(place):
    """Return random bits of every size for the device at a place, and at last an empty array."""
    random, shares = np.random.default_rng(place), []
    for shape, kind in (*SIZES, EMPTY):
        count = kind.itemsize * math.prod(shape)
        shares.append(np.frombuffer(random.bytes(count), kind).reshape(1, *shape))
    return shares


def joined(shares, shapes):
    """Return the shares of all devices as one array of each shape, without waiting for them."""
    parts = (list(share) for share in zip(*shares.values(), strict=True))
    return [
        jax.make_array_from_single_device_arrays(one.shape, one.sharding, next(parts))
        for one in shapes
    ]


def apart(arrays, devices):
    """Return the share of each device of some sharded arrays."""
    shares = {device: [] for device in devices}
    for array in arrays:
        for shard in array.addressable_shards:
            shares[shard.device].append(shard.data)
    return shares


def difference(sent, back):
    """Return which sizes came back changed, or an empty text."""
    texts = []
    for one, other in zip(sent, back, strict=True):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            texts.append(f"{name(one)}: {name(other)}")
        elif changed := np.count_nonzero(one != other):
            texts.append(f"{name(one)}: {changed} of {one.size} numbers changed")
    return "; ".join(texts)


def name(array):
    """Return the type and size of a share, such as `uint8[4097]`."""
    return f"{array.dtype}{list(array.shape[1:])}"

"""Arrays of sizes at which transfers fail, different for each device, and changes on return.

The rule to know: sizes are those at the edges of pages (4 KiB) and of the tiles (8, 128) to which a
TPU pads an array; the first axis counts devices, so every device's shard is `[1, ...]`.
"""

import functools
import math

import jax
import numpy as np

BYTES = ((1,), (4095,), (4096,), (4097,), (33, 129), (2**21 + 3,))
WORDS = ((1023,), (1025,), (9, 129), (7, 127), (3, 5, 1))
SIZES = [(shape, np.dtype(np.uint8)) for shape in BYTES]
SIZES += [(shape, np.dtype(np.uint32)) for shape in WORDS]

EMPTY = ((0,), np.dtype(np.uint8))
"""A size to send only: shards of an empty array out of a program have another shape (JAX 0.12)."""


@functools.cache
def random_bytes():
    """Return random bytes for every size, and at last for an empty array."""
    rng = np.random.default_rng(0)
    counts = [dtype.itemsize * math.prod(shape) for shape, dtype in (*SIZES, EMPTY)]
    return [np.frombuffer(rng.bytes(count), np.uint8) for count in counts]


def numbers(place):
    """Return arrays of every size; each byte differs between the devices at different places."""
    return [
        (one ^ np.uint8(place % 256)).view(dtype).reshape(1, *shape)
        for one, (shape, dtype) in zip(random_bytes(), (*SIZES, EMPTY), strict=True)
    ]


def complements(place):
    """Return the expected result of `complement` for `numbers(place)`, without the empty array."""
    return numbers(255 - place)[:-1]  # every byte is combined with `place` by exclusive or


def joined(shards, shapes):
    """Return the shards of all devices as one array of each shape, without waiting for them."""
    parts = (list(shard) for shard in zip(*shards.values(), strict=True))
    return [
        jax.make_array_from_single_device_arrays(struct.shape, struct.sharding, next(parts))
        for struct in shapes
    ]


def apart(arrays, devices):
    """Return the shards of each device of some sharded arrays."""
    shards = {device: [] for device in devices}
    for array in arrays:
        for shard in array.addressable_shards:
            shards[shard.device].append(shard.data)
    return shards


def difference(sent, back):
    """Return the sizes whose arrays came back changed, or an empty string."""
    texts = []
    for original, returned in zip(sent, back, strict=True):
        if (original.dtype, original.shape) != (returned.dtype, returned.shape):
            texts.append(f"{name(original)}: {name(returned)}")
        elif changed := np.count_nonzero(original != returned):
            texts.append(f"{name(original)}: {changed} of {original.size} numbers changed")
    return "; ".join(texts)


def name(array):
    """Return the type and size of a shard, such as `uint8[4097]`."""
    return f"{array.dtype}{list(array.shape[1:])}"

"""Threefry-2x32 in NumPy, and the numbers that JAX must draw with it.

The rule to know: every number is a function of the key and of its index alone, so any device can
compute any number, and there is one right answer.

Cipher: Salmon and others, Parallel Random Numbers: As Easy as 1, 2, 3 (2011), 20 rounds. Test
vectors: `kat_vectors` of Random123, https://github.com/DEShawResearch/random123. How JAX numbers
the indices: https://docs.jax.dev/en/latest/jax.random.html (`jax_threefry_partitionable`).
"""

import numpy as np

VECTORS = (
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
)
"""Key, counter and result, as Random123 publishes them for 20 rounds."""

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = np.uint32(0x1BD11BDA)


def threefry(key, high, low):
    """Return both words `uint32[n]` for a key of two words and the counters `uint32[n]`."""
    first, second = (np.uint32(word) for word in key)
    words = (first, second, first ^ second ^ PARITY)
    x, y = (np.asarray(word, np.uint32).copy() for word in (high, low))
    with np.errstate(over="ignore"):
        x, y = x + words[0], y + words[1]
        for group in range(5):
            for turn in ROTATIONS[group % 2]:
                x = x + y
                y = x ^ ((y << np.uint32(turn)) | (y >> np.uint32(32 - turn)))
            x = x + words[(group + 1) % 3]
            y = y + words[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


def places(count):
    """Return the high and low words of the first counters."""
    return np.zeros(count, np.uint32), np.arange(count, dtype=np.uint32)


def bits(key, count):
    """Return the expected result of `jax.random.bits(key, (count,))`."""
    x, y = threefry(key, *places(count))
    return x ^ y


def uniform(key, count):
    """Return the expected `jax.random.uniform(key, (count,))`: 23 bits after the point."""
    mantissa = (bits(key, count) >> np.uint32(9)) | np.uint32(0x3F800000)
    return mantissa.view(np.float32) - np.float32(1)


def split(key, count):
    """Return the words `uint32[count, 2]` of the keys of `jax.random.split(key, count)`."""
    return np.stack(threefry(key, *places(count)), axis=1)


def fold_in(key, number):
    """Return the words `uint32[2]` of `jax.random.fold_in(key, number)`."""
    return np.stack(threefry(key, [0], [number]), axis=1)[0]


def drawn(key, count):
    """Return the expected results of `jax.random` for a key of two words, by function name."""
    numbers = {"bits": bits(key, count), "uniform": uniform(key, count)}
    return {**numbers, "split": split(key, 3), "fold_in": fold_in(key, 7)}


def differences(output, expected, devices):
    """Return for each device how its row of a sharded array differs from the expected numbers."""
    rows = {shard.device: np.asarray(shard.data)[0] for shard in output.addressable_shards}
    texts = {}
    for device in devices:
        row = rows.get(device, np.zeros(0, expected.dtype))
        wrong = row.shape != expected.shape or (row != expected)
        text = "" if not np.any(wrong) else f"{np.sum(wrong)} of {expected.size} numbers wrong"
        texts[f"device:{device.id}"] = text
    return texts

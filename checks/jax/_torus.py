"""The grid of chips in a slice: its sides, its wraparound links, and paths along them.

The rule to know: a chip is connected with the next one on each axis. An axis is a ring where a link
joins its ends: of v5e and v6e an axis of 16 chips, of v4, v5p and TPU7x every axis of a slice of
whole cubes of 4x4x4 chips (https://jax-ml.github.io/scaling-book/tpus/, read 2026-11).
"""

import itertools

from tpustarter.machine import tpus

RING = 16
CUBE = 4
PLANES, CUBES = ("v5e", "v6e"), ("v4", "v5p", "tpu7x")


def has_places(devices):
    """Return whether devices report their coordinates; virtual ones do not."""
    return all(hasattr(device, "core_on_chip") for device in devices)


def sides(devices):
    """Return the number of chips that the devices span along x, y and z."""
    return [
        max(axis) - min(axis) + 1 for axis in zip(*(one.coords for one in devices), strict=True)
    ]


def rings(device_kind, lengths):
    """Return for each axis whether its ends are joined, or None if that is not documented."""
    generation = tpus.find_generation_by_device_kind(device_kind)
    name = generation.name if generation else ""
    if name in PLANES:
        return [length == RING for length in lengths]
    if name in CUBES:
        return [all(length % CUBE == 0 for length in lengths)] * len(lengths)
    return None


def hops(one, other, lengths, joined):
    """Return the number of links between two chips, from their coordinates."""
    ways = 0
    for start, end, length, ring in zip(one, other, lengths, joined, strict=True):
        direct = abs(start - end)
        ways += min(direct, length - direct) if ring else direct
    return ways


def longest(order, lengths, joined):
    """Return the maximum number of links from a device to the next in an order, as in a ring."""
    following = [*order[1:], order[0]]
    return max(
        hops(one.coords, other.coords, lengths, joined)
        for one, other in zip(order, following, strict=True)
    )


def links(devices):
    """Return each link as the indices of the two devices that it joins.

    Devices without coordinates count as a ring. One device represents a chip that has several, and
    only links within a slice are returned.
    """
    count = len(devices)
    if not has_places(devices):
        return [(place, (place + 1) % count) for place in range(count if count > 2 else count - 1)]
    lengths = sides(devices)
    joined = rings(devices[0].device_kind, lengths) or [False] * len(lengths)
    first = [place for place, device in enumerate(devices) if device.core_on_chip == 0]
    return [
        (one, other)
        for one, other in itertools.combinations(first, 2)
        if getattr(devices[one], "slice_index", 0) == getattr(devices[other], "slice_index", 0)
        and hops(devices[one].coords, devices[other].coords, lengths, joined) == 1
    ]


def is_box(chips):
    """Return whether coordinates fill the box that they span, each once."""
    volume = 1
    for axis in zip(*chips, strict=True):
        volume *= max(axis) - min(axis) + 1
    return len(set(chips)) == volume

"""Which devices belong in one row? A dictionary from the slice to a list of
ids collects them.

`rows.setdefault(device.slice_index, []).append(device.id)` for every device,
then `sorted` for the slices and for the ids.

The lengths are `[len(row) for row in rows]`. If `set` of them has more than
one element, raise `ValueError(f"slices of {lengths} devices")`.

Learned: A mesh for several slices must not mix their devices in a row, and it
is the slice index of a device that tells them apart, not its position.
"""

from typing import NamedTuple

import numpy as np


class Device(NamedTuple):
    id: int
    slice_index: int


def grid_of(devices):
    """Return the ids of the devices, one slice in each row."""
    ids = {}
    for device in devices:
        ids.setdefault(device.slice_index, []).append(device.id)
    rows = [sorted(ids[number]) for number in sorted(ids)]
    lengths = [len(row) for row in rows]
    if len(set(lengths)) > 1:
        raise ValueError(f"slices of {lengths} devices")
    return np.array(rows)

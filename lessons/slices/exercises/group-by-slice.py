"""Arrange the devices of several slices into a mesh.

`grid_of` gets devices in any order. Each has a `slice_index` and an `id`.
Return the ids as int[slices, devices of a slice], one slice in each row and
the ids of a row in ascending order. If the slices have different numbers of
devices, raise a ValueError whose message has the number of each slice's
devices.
"""

from typing import NamedTuple

import numpy as np


class Device(NamedTuple):
    id: int
    slice_index: int


def grid_of(devices):
    """Return the ids of the devices, one slice in each row."""
    slices = len({device.slice_index for device in devices})
    ids = np.array([device.id for device in devices])
    return ids.reshape(slices, -1)  # your code here


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
numbers = rng.permutation(12)
devices = [Device(int(number), int(number) % 3) for number in numbers]
found = np.asarray(grid_of(devices))
message = f"found the shape {found.shape}, expected (3, 4)"
assert found.shape == (3, 4), message
for row in range(3):
    slices = set((found[row] % 3).tolist())
    message = f"row {row} has devices of the slices {sorted(slices)}"
    assert slices == {row}, message
    ordered = np.array_equal(found[row], np.sort(found[row]))
    assert ordered, f"row {row} is not in ascending order: {found[row]}"
one = np.asarray(grid_of([Device(2, 0), Device(1, 0)]))
assert np.array_equal(one, [[1, 2]]), f"one slice: found {one}"
refused = ""
try:
    grid_of([Device(0, 0), Device(1, 0), Device(2, 0), Device(3, 1)])
except ValueError as error:
    refused = str(error)
message = f"slices of 3 and 1 devices must be refused: {refused!r}"
assert "3" in refused and "1" in refused, message
print("each row of the mesh is a slice")

"""Find the device that computes something else.

Every device has run the same program on the same numbers, so the results
must be equal bit by bit. `results` has one row for each device. Return the
indices of the devices to suspect, in ascending order. Most devices agree, and
a device is suspect if its row differs from theirs in any bit.

As it stands, the first device decides what is right, and rows are compared
as numbers. Both are wrong: the first device may be the broken one, and NaN
is not equal to itself.
"""

import numpy as np


def suspects(results):
    """Return a list of int from results: float32[devices, width]."""
    wrong = []
    for index, row in enumerate(results):
        if not np.array_equal(row, results[0]):  # your code here
            wrong.append(index)
    return wrong


# Judged below: leave this part as it is.

rng = np.random.default_rng(0)
row = rng.standard_normal(64).astype(np.float32)
row[5] = 0.0


def eight(**faults):
    """Return eight equal rows, with a function applied to some of them."""
    results = np.tile(row, (8, 1))
    for name, change in faults.items():
        change(results[int(name.removeprefix("device_"))])
    return results


def one_bit(values):
    values.view(np.uint32)[17] ^= 1


def zeros(values):
    values[:] = 0


def negative_zero(values):
    values[5] = -0.0


def not_a_number(values):
    values[3] = np.nan


everywhere = {f"device_{index}": not_a_number for index in range(8)}
cases = [
    ("all devices agree", eight(), []),
    ("device 3 returns zeros", eight(device_3=zeros), [3]),
    ("device 6 has one wrong bit", eight(device_6=one_bit), [6]),
    ("device 0 is broken", eight(device_0=zeros), [0]),
    (
        "devices 0, 2 and 7 are broken",
        eight(device_0=zeros, device_2=one_bit, device_7=not_a_number),
        [0, 2, 7],
    ),
    ("device 4 has -0.0 for 0.0", eight(device_4=negative_zero), [4]),
    ("a NaN that all devices computed", eight(**everywhere), []),
    ("one device alone", row[None], []),
]
for name, results, expected in cases:
    before = results.tobytes()
    found = suspects(results)
    assert results.tobytes() == before, f"{name}: `results` was changed"
    message = f"{name}: found {found}, expected {expected}"
    assert [int(index) for index in found] == expected, message
print(f"{len(cases)} cases, from one wrong bit to three broken devices")

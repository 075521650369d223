"""Which device holds something else than it should, and what that is."""

import numpy as np


def label(device):
    """Return the name of a device in findings."""
    return f"device:{device.id}"


def differences(output, expected, shares, devices):
    """Return for each device how its row differs from the expected one, empty where it does not.

    `output: int32[d, w, w]` is sharded by rows; `expected` and `shares: int64[d, w, w]` are NumPy
    arrays. `shares` are what the single devices contributed: they tell whose is missing or doubled.
    """
    rows = {shard.device: np.asarray(shard.data)[0] for shard in output.addressable_shards}
    found = {}
    for device, row in zip(devices, expected, strict=True):
        found[label(device)] = describe(rows.get(device), row, shares, devices)
    return found


def describe(found, expected, shares, devices):
    """Return what a row is, or how far off, where it is not as expected; else an empty text."""
    if found is None:
        return "nothing"
    if np.array_equal(found, expected):
        return ""
    if not found.any():
        return "zeros"
    for device, share in zip(devices, shares, strict=True):
        if np.array_equal(found, share):
            return f"the share of {label(device)}"
        if np.array_equal(expected - found, share):
            return f"lacks the share of {label(device)}"
    return f"{np.count_nonzero(found != expected)} of {expected.size} numbers wrong"

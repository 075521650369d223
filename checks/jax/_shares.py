"""The devices that hold wrong numbers, and the devices that these numbers are from."""

import numpy as np


def label(device):
    """Return the name of a device in findings."""
    return f"device:{device.id}"


def differences(output, expected, shards, devices):
    """Return for each device how its row differs from the expected one, or an empty text.

    `output: int32[d, w, w]` is sharded by rows; `expected` and `shards: int64[d, w, w]` are NumPy
    arrays. `shards` has each device's contribution, which shows whose is missing or doubled.
    """
    rows = {shard.device: np.asarray(shard.data)[0] for shard in output.addressable_shards}
    texts = {}
    for device, row in zip(devices, expected, strict=True):
        texts[label(device)] = describe(rows.get(device), row, shards, devices)
    return texts


def describe(actual, expected, shards, devices):
    """Describe a row that is not as expected, or return an empty text."""
    if actual is None:
        return "nothing"
    if np.array_equal(actual, expected):
        return ""
    if not actual.any():
        return "zeros"
    for device, shard in zip(devices, shards, strict=True):
        if np.array_equal(actual, shard):
            return f"the shard of {label(device)}"
        if np.array_equal(expected - actual, shard):
            return f"lacks the shard of {label(device)}"
    return f"{np.count_nonzero(actual != expected)} of {expected.size} numbers wrong"

"""Collectives between slices are exact."""

import os

import jax
import numpy as np

from tpustarter.checks.jax import _axes
from tpustarter.probe.finding import Finding, Hint, compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {"hosts": 2, "slices": 2}
TIMEOUT_S = 240
ESTIMATE_S = 0.2
LESSON = "slices/multislice"
SOURCE = "https://docs.cloud.google.com/tpu/docs/multislice-introduction"
AFTER = ["jax.slice_program"]

MEGASCALE = Hint.see("env | grep MEGASCALE_", "shows on each host the slices that it was told of")


def slice_of(device):
    """Return the number of a device's slice, or 0 if the device has none."""
    return getattr(device, "slice_index", 0)


def slices(devices):
    """Return the devices of each slice, by its number."""
    numbers = sorted({slice_of(device) for device in devices})
    return {index: [one for one in devices if slice_of(one) == index] for index in numbers}


def grid(devices):
    """Return the devices as an array `[s, n]`: a row for each slice."""
    return np.array(list(slices(devices).values()))


def programs(devices):
    """Yield one program over a mesh with a row for each slice: `x: int32[s, n, w]`."""
    yield from _axes.programs(grid(devices))


def run():
    """Compare the slices with the announced ones, then each device's results along both axes."""
    devices = jax.devices()
    sizes = {index: len(members) for index, members in slices(devices).items()}
    announced = os.environ.get("MEGASCALE_NUM_SLICES", "").strip()
    code, name = "SLICE-DCN-COUNT", "slices"
    if announced.isdigit():
        yield compare(code, name, len(sizes), int(announced), hint=MEGASCALE)
    else:
        yield Finding(code, name, "info", len(sizes))
    common = max(sizes.values())
    code, name = "SLICE-DCN-EVEN", "slices with as many devices as the largest"
    even = list(sizes.values()).count(common)
    yield compare(code, name, even, len(sizes), hint=MEGASCALE)
    for index, size in sizes.items():
        if size != common:
            text, entity = f"{size} of {common} devices", f"slice:{index}"
            yield Finding(code, name, "fail", text, entity=entity, hint=MEGASCALE)
    if even == len(sizes):
        yield from _axes.findings("SLICE-DCN", grid(devices), programs(devices), "slices")

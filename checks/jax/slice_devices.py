"""Every host lists the same devices."""

import collections

import jax
import numpy as np

from tpustarter.checks.jax import _collectives, _hosts, _lists, _slices
from tpustarter.checks.jax._shares import label
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {"hosts": 2}
TIMEOUT_S = 120
ESTIMATE_S = 0.3
LESSON = "slices/what-a-slice-is"
SOURCE = "https://docs.jax.dev/en/latest/multi_process.html"
AFTER = ["jax.devices_visible"]


def answer(x):
    """Return a device's place in the row of all, added to `x: int32[1, w]`, its own numbers."""
    return x + jax.lax.axis_index("d")


def programs(devices):
    """Yield the program that each device of all hosts runs on its own row: `x: int32[d, w]`."""
    function, x = _collectives.spread(answer, devices)
    yield "answer", function, (x,)


def listed():
    """Return the devices of all hosts, as this host lists them."""
    return jax.devices()


def run():
    """Compare the lists of all hosts, then let each device return its place in the list."""
    devices = listed()
    times = collections.Counter(device.id for device in devices)
    lost = {label(one): "" if times[one.id] == 1 else "this id is not unique" for one in devices}
    yield from tally("SLICE-DEVICES-DISTINCT", "devices with an id of their own", lost, _lists.LEFT)
    answers = _hosts.exchange("devices", _lists.listed(devices))
    counted = [_hosts.label(process) for process in _slices.hosts(devices)]
    name = "hosts that have devices"
    yield compare("SLICE-DEVICES-HOSTS", name, len(counted), len(answers), hint=_lists.LIMITS)
    if not (yield from _lists.compared(answers)):
        return
    numbers = _collectives.blocks(len(devices))
    expected = numbers + np.arange(len(devices), dtype=np.int32)[:, None]
    output = _slices.execute(programs(devices), numbers)
    named = _collectives.owners(expected, devices)
    lost = _slices.wrong(output, expected[:, None], named, devices)
    yield from tally("SLICE-DEVICES-COMPUTE", "devices that answer from their place", lost)

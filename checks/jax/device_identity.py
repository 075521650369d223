"""Device ids are unique and consistent."""

import collections

import jax
import numpy as np

from tpustarter.checks.jax import _collectives
from tpustarter.checks.jax._shares import label
from tpustarter.checks.jax._tally import tally
from tpustarter.probe.finding import Finding, Hint, compare

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 1
LESSON = "start/chips-cores-devices"
SOURCE = "https://docs.jax.dev/en/latest/multi_process.html"
AFTER = ["jax.devices_visible"]

OTHERS = Hint.see("env | grep -E 'TPU_|JAX_'", "shows the variables that describe other processes")


def answer(x):
    """Return `x: int32[1, w]`, the numbers that a device was given, plus the device's index."""
    return x + jax.lax.axis_index("d")


def programs(devices):
    """Yield the program that all devices run at once: `x: int32[d, w]`, a row for each."""
    function, x = _collectives.spread(answer, devices)
    yield "answer", function, (x,)


def run():
    """Count ids and processes, then let each device return its index and its own row."""
    devices, local = jax.devices(), jax.local_devices()
    yield from numbered(devices)
    yield from processes(devices, local, jax.process_index(), jax.process_count())

    numbers = _collectives.blocks(len(local))
    output = _collectives.execute(programs(local), numbers)
    expected = numbers + np.arange(len(local), dtype=np.int32)[:, None]
    named = _collectives.owners(expected, local)
    actual = _collectives.shard_rows(output, local)
    lost = _collectives.wrong(actual[:, None], expected[:, None], named, local)
    yield from tally("JAX-IDENTITY-ANSWER", "devices that return their own result", lost)


def numbered(devices):
    """Compare the ids with the devices: no two may share one."""
    times = collections.Counter(device.id for device in devices)
    lost = {label(device): shared(times[device.id]) for device in devices}
    yield from tally("JAX-IDENTITY-ID", "devices with a unique id", lost, OTHERS)
    hardware = [device.local_hardware_id for device in devices]
    text = ", ".join(map(str, dict.fromkeys(hardware)))
    yield Finding("JAX-IDENTITY-HARDWARE", "ids in the driver", "info", text)


def shared(times):
    """Describe an id that several devices share, or return an empty string."""
    return "" if times == 1 else f"{times} devices have this id"


def processes(devices, local, own, count):
    """Compare process and host numbers of all devices with the processes that JAX reports."""
    indices = sorted({device.process_index for device in devices})
    code, text = "JAX-IDENTITY-PROCESSES", "processes that have devices"
    yield compare(code, text, str(indices), str([*range(count)]), hint=OTHERS)
    lost = {label(device): foreign(device.process_index, own) for device in local}
    yield from tally("JAX-IDENTITY-LOCAL", "local devices of this process", lost, OTHERS)
    sizes = collections.Counter(device.process_index for device in devices)
    actual, expected = str(sorted(set(sizes.values()))), str([len(devices) // len(sizes)])
    yield compare("JAX-IDENTITY-EVEN", "devices of each process", actual, expected, hint=OTHERS)


def foreign(process, own):
    """Describe the owner of a device that is not this process's own, or return an empty string."""
    return "" if process == own else f"process {process}, this is {own}"

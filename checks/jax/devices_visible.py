"""JAX sees every device, and each computes."""

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from tpustarter.checks.jax._tally import tally
from tpustarter.machine import tpus
from tpustarter.probe.finding import Finding, Hint, compare
from tpustarter.probe.target import target

FRAMEWORK = "jax"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 2
LESSON = "jax/is-it-really-the-tpu"
SOURCE = "https://docs.cloud.google.com/tpu/docs/troubleshooting/trouble-jax"
AFTER = ["host.frameworks", "host.device_nodes", "host.holder"]

WHY = Hint.see('JAX_PLATFORMS={} python -c "import jax; print(jax.devices())"', "shows why not")
LIMITS = Hint.see("env | grep -E 'TPU_|JAX_|XLA_FLAGS'", "shows what limits the devices")
CHIPS = Hint.see("tpustarter check 'host.*' -v", "lists the chips of this machine")
ALONE = Hint.see("tpustarter check jax.devices_visible --isolate -v", "tests them in a new process")


def answer(x):
    """Return `3 x + 7` for `x: int32[8]`, which any device gets right or not at all."""
    return 3 * x + 7


def programs(devices):
    """Yield what every device runs, for the first of them."""
    x = jax.ShapeDtypeStruct((8,), np.int32, sharding=SingleDeviceSharding(devices[0]))
    yield "answer", answer, (x,)


def run():
    """Compare platform, count and kind with the target, then compute on every device."""
    requested, devices, platform = target(), jax.local_devices(), jax.default_backend()
    why = WHY.format(requested.platform)
    yield compare("JAX-DEVICES-PLATFORM", "JAX runs on", platform, requested.platform, hint=why)

    count = len(devices)
    virtual = platform == "cpu" and (requested.virtual or count > 1)
    unit = "virtual CPU devices" if virtual else f"{platform.upper()} devices"
    expected = count if requested.devices is None else requested.devices
    yield compare("JAX-DEVICES-COUNT", "devices", count, expected, unit=unit, hint=LIMITS)

    kinds = sorted({device.device_kind for device in devices})
    yield compare("JAX-DEVICES-ALIKE", "kinds of device", len(kinds), 1, hint=CHIPS)
    for kind in kinds:
        yield generation(kind, requested.generation)
    yield from tally(
        "JAX-DEVICES-ANSWER", "devices that compute correctly", answers(devices), ALONE
    )


def generation(kind, expected):
    """Compare the TPU generation that a device kind belongs to with the chips on PCI."""
    actual = tpus.find_generation_by_device_kind(kind)
    code = "JAX-DEVICES-KIND"
    if expected is None or actual is None:
        return Finding(code, "device kind", "info", kind, expected)
    return compare(code, f"TPU generation of {kind}", actual.name, expected, hint=CHIPS)


def answers(devices):
    """Return for each device how its answer to numbers of its own differs, or an empty text."""
    program, texts = jax.jit(answer), {}
    for index, device in enumerate(devices):
        x = np.arange(8, dtype=np.int32) + 1000 * index
        result = program(jax.device_put(x, device))
        ran_on = ", ".join(f"device:{holder.id}" for holder in result.devices())
        right = np.array_equal(np.asarray(result), 3 * x + 7)
        text = f"{np.asarray(result).tolist()} from {ran_on}"
        texts[f"device:{device.id}"] = "" if right and result.devices() == {device} else text
    return texts

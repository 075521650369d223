"""JAX sees every device, and each computes."""

import jax
import numpy as np

from tpustarter.checks.jax import _collectives
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
    """Return `3 x + 7` for `x: int32[w]`, which any device gets right or not at all."""
    return 3 * x + 7


def programs(devices):
    """Yield one program for all, `x: int32[d, w]`: one for each would be compiled d times."""
    function, x = _collectives.spread(lambda x: answer(x[0])[None], devices)
    yield "answer", function, (x,)


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
    numbers = np.add.outer(1000 * np.arange(len(devices)), np.arange(_collectives.WIDTH))
    rows = _collectives.shard_rows(_collectives.execute(programs(devices), numbers), devices)
    expected = 3 * numbers + 7
    named = _collectives.owners(expected, devices)
    return _collectives.wrong(rows[:, None], expected[:, None], named, devices)

"""PyTorch/XLA sees every device, and each computes."""

import os

import torch
import torch_xla
import torch_xla.core.xla_model as xm

from tpustarter.checks.torch_xla._tally import tally
from tpustarter.machine import tpus
from tpustarter.probe.finding import Finding, Hint, compare
from tpustarter.probe.target import target

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 7
LESSON = "pytorch/first-tensors"
SOURCE = "https://docs.pytorch.org/xla/master/learn/pytorch-on-xla-devices.html"
AFTER = ["host.frameworks", "host.device_nodes", "host.holder"]
NAMES = Hint.run("export PJRT_DEVICE={}", "; it knows TPU, CPU and CUDA, in capitals")
WHY = Hint.see('PJRT_DEVICE={} python -c "import torch_xla; print(torch_xla.device())"', "says why")
LIMITS = Hint.see("env | grep -E 'PJRT_|TPU_|CPU_NUM_DEVICES|XLA_USE_SPMD'", "says what limits it")
CHIPS = Hint.see("tpustarter check 'host.*' -v", "lists the chips of this machine")
ALONE = Hint.see("tpustarter check torch_xla.devices_visible --isolate -v", "tests it by itself")


def answer(x):
    """Return `3 x + 7` for `x: int32[8]`, which any device gets right or not at all."""
    return 3 * x + 7


def programs(devices):
    """Yield the program that every device runs."""
    yield "answer", answer, (torch.empty(8, dtype=torch.int32),)


def run():
    """Compare platform, count and kind with the target, then compute on every device."""
    requested, asked = target(), os.environ.get("PJRT_DEVICE", "")
    expected = {"gpu": "CUDA"}.get(requested.platform, requested.platform.upper())
    names, why = NAMES.format(expected), WHY.format(expected)
    if asked == "GPU" or not asked.isupper():  # no device starts with such a name
        yield compare("XLA-DEVICES-NAME", "PJRT_DEVICE", asked, expected, hint=names)
        return
    devices = torch_xla.devices()
    # What the runtime says: `xr.device_type()` only repeats the variable PJRT_DEVICE.
    found = ", ".join(sorted({name.partition(":")[0] for name in torch_xla.real_devices()}))
    yield compare("XLA-DEVICES-PLATFORM", "PyTorch/XLA runs on", found, expected, hint=why)
    count, unit = len(devices), f"{'virtual ' * requested.virtual}{found} devices"
    expected = count if requested.devices is None else requested.devices
    yield compare("XLA-DEVICES-COUNT", "devices", count, expected, unit=unit, hint=LIMITS)
    yield compare("XLA-DEVICES-FIRST", "first device", str(devices[0]), "xla:0", hint=LIMITS)
    kinds = sorted({xm.xla_device_kind(str(device)) for device in devices})
    yield compare("XLA-DEVICES-ALIKE", "kinds of device", len(kinds), 1, hint=CHIPS)
    for kind in kinds:
        yield generation(kind, requested.generation)
    lost = answers(devices)
    yield from tally("XLA-DEVICES-ANSWER", "devices that compute correctly", lost, ALONE)


def generation(kind, expected):
    """Compare the TPU generation that a device kind belongs to with the chips on PCI."""
    actual, code = tpus.find_generation_by_device_kind(kind), "XLA-DEVICES-KIND"
    if expected is None or actual is None:
        return Finding(code, "device kind", "info", kind, expected)
    return compare(code, f"TPU generation of {kind}", actual.name, expected, hint=CHIPS)


def answers(devices):
    """Return for each device how its answer to numbers of its own differs, or an empty text."""
    asked = [torch.arange(8, dtype=torch.int32) + 1000 * index for index in range(len(devices))]
    results = [answer(x.to(device)) for device, x in zip(devices, asked, strict=True)]
    torch_xla.sync()
    texts = {}
    for device, x, result in zip(devices, asked, results, strict=True):
        right = result.device == device and torch.equal(result.cpu(), 3 * x + 7)
        texts[f"device:{device.index}"] = "" if right else f"{result.tolist()} from {result.device}"
    return texts

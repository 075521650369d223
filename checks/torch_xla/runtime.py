"""PJRT is the runtime in use, on the requested platform."""

import os

import torch_xla
import torch_xla.core.xla_model as xm
import torch_xla.runtime as xr

from tpustarter.checks.torch_xla._tally import tally
from tpustarter.machine import tpus
from tpustarter.probe.finding import Finding, Hint, compare
from tpustarter.probe.target import target

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 60
ESTIMATE_S = 0.1
LESSON = "pytorch/first-tensors"
SOURCE = "https://docs.pytorch.org/xla/master/learn/pjrt.html"
AFTER = ["torch_xla.devices_visible"]

NAMES = Hint.run(
    "export PJRT_DEVICE=TPU", "; the names that it knows are TPU, CPU and CUDA, in capitals"
)
UNSET = Hint.run(
    "unset {}", ", because PyTorch/XLA 2.1 removed XRT; `PJRT_DEVICE` chooses the device"
)
ONE = Hint.run(
    "unset XLA_USE_SPMD", ", unless your program uses SPMD, which shows one virtual device"
)
MASK = Hint.see("env | grep -E 'TPU_|PJRT_'", "shows which settings assign chips to this process")


def taken():
    """Return the platforms of the devices that the runtime started."""
    return sorted({name.partition(":")[0] for name in torch_xla.real_devices()})


def run():
    """Compare PJRT_DEVICE with the devices that were started, and look for older settings."""
    asked, platforms = os.environ.get("PJRT_DEVICE", "not set"), ", ".join(taken())
    yield compare("XLA-RUNTIME-PJRT", "PJRT_DEVICE in force", platforms, asked, hint=NAMES)
    yield old_settings(sorted(name for name in os.environ if name.startswith("XRT_")))
    on = xr.is_spmd()
    state, hint = ("on", ONE) if on else ("off", None)
    yield Finding("XLA-RUNTIME-SPMD", "SPMD", "info", state, hint=hint)

    attributes, count = xr.global_runtime_device_attributes(), xr.global_runtime_device_count()
    names = {str(one.get("name", index)) for index, one in enumerate(attributes)}
    code, name = "XLA-RUNTIME-ATTRIBUTES", "devices that the runtime describes"
    yield compare(code, name, len(names), count, hint=MASK)
    processes = xr.process_count()
    yield Finding("XLA-RUNTIME-PROCESSES", "processes of this runtime", "info", processes)
    if target().platform == "tpu":
        yield from positions(attributes)


def old_settings(names):
    """Return the variables of XRT, the runtime before PJRT, that are set and have no effect."""
    found = ", ".join(names) or "none"
    verdict, hint = ("warn", UNSET.format(" ".join(names))) if names else ("ok", None)
    return Finding("XLA-RUNTIME-XRT", "variables of XRT still set", verdict, found, hint=hint)


def positions(attributes):
    """Yield the kind of the TPU, and the devices without a unique position in the torus."""
    kind = xm.xla_device_kind(str(torch_xla.device()))
    known = tpus.find_generation_by_device_kind(kind)
    actual, expected = known.name if known else kind, target().generation
    verdict = "info" if None in (known, expected) else "ok" if actual == expected else "fail"
    hint = MASK if verdict == "fail" else None
    yield Finding("XLA-RUNTIME-KIND", "TPU generation", verdict, actual, expected, hint=hint)
    seen, texts = set(), {}
    for index, one in enumerate(attributes):
        place = (str(one.get("coords")), str(one.get("core_on_chip")))
        texts[f"device:{index}"] = f"{place} is taken" if place in seen else ""
        seen.add(place)
    yield from tally("XLA-RUNTIME-COORDS", "devices with their own position", texts, MASK)

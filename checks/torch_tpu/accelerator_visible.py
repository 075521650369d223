"""`torch.accelerator` sees the TPU where there is one."""

import torch

from tpustarter.probe.finding import Finding, Hint, compare
from tpustarter.probe.target import target

FRAMEWORK = "torch_tpu"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 240
ESTIMATE_S = 0.1
LESSON = "pytorch/to-torchtpu"
SOURCE = "https://docs.pytorch.org/docs/stable/accelerator.html"
AFTER = ["torch_tpu.googles_package", "torch_tpu.versions_in_range"]

HOLDER = Hint.see(
    "tpustarter check host.chips host.holder host.device_nodes -v", "shows what uses the chips"
)


def kind():
    """Return the type of the current accelerator, such as `tpu`, or `none`."""
    if not torch.accelerator.is_available():
        return "none"
    return torch.accelerator.current_accelerator().type


def count():
    """Return the number of devices that torch sees, without starting them."""
    return torch.accelerator.device_count()


def round_trip(device):
    """Return the sum of 0 to 127, computed on a device and read back."""
    return int(torch.arange(128, dtype=torch.int32, device=device).sum().cpu())


def run():
    """Compare devices with this machine's chips; without a TPU there must be no `tpu` device."""
    on_tpu, expected = target().platform == "tpu", target().devices
    found = kind()
    yield Finding("TTPU-ACCELERATOR-TORCH", "torch", "info", torch.__version__)
    if not on_tpu:
        yield Finding(
            code="TTPU-ACCELERATOR-ABSENT",
            name="accelerator where no TPU was found",
            verdict="fail" if found == "tpu" else "ok",
            found=found,
            expected="none",
            hint=Hint.see("tpustarter check host.chips -v", "shows what this machine has")
            if found == "tpu"
            else None,
        )
        return
    yield compare(
        code="TTPU-ACCELERATOR-KIND",
        name="accelerator that torch uses",
        found=found,
        expected="tpu",
        hint=f"is TORCH_DEVICE_BACKEND_AUTOLOAD=0 set? {HOLDER}",
    )
    seen = count()
    if expected is None:
        yield Finding("TTPU-ACCELERATOR-COUNT", "TPU devices", "info", seen)
    else:
        yield compare("TTPU-ACCELERATOR-COUNT", "TPU devices", seen, expected, hint=HOLDER)
    if found == "tpu":
        total = round_trip("tpu")
        yield compare("TTPU-ACCELERATOR-SUM", "sum of 0 to 127", total, 8128, hint=HOLDER)

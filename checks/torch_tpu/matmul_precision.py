"""float32 matmul is as accurate as its setting says."""

import torch

from tpustarter.checks.torch_tpu import _precision
from tpustarter.probe.finding import Finding, Hint

FRAMEWORK = "torch_tpu"
LEVEL = "quick"
NEEDS = {"platform": "tpu"}
TIMEOUT_S = 240
ESTIMATE_S = 0.5
LESSON = "pytorch/precision"
SOURCE = "https://docs.pytorch.org/docs/stable/generated/torch.set_float32_matmul_precision.html"
AFTER = ["torch_tpu.accelerator_visible"]

DOCUMENTED = {"medium": "one bfloat16 pass", "high": "three bfloat16 passes", "highest": "float32"}
"""The precision of each setting in torch_tpu 0.2.0: StableHLO's DEFAULT, HIGH and HIGHEST."""
ORDER = tuple(_precision.CLASSES)
AGAIN = Hint.run(
    "env -u XLA_FLAGS -u LIBTPU_INIT_ARGS tpustarter check torch_tpu.matmul_precision",
    " to test without compiler flags; do not trust a device that fails twice",
)


def multiply(x, y, setting):
    """Return `x @ y` for `x, y: float32[256, 256]` at a setting, which is restored afterwards."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(setting)
    try:
        return x @ y
    finally:
        torch.set_float32_matmul_precision(before)


def judge(setting, kind, error, *, on_tpu):
    """Return a finding that fails if the arithmetic is less precise than the setting promises."""
    promised = DOCUMENTED[setting] if on_tpu else "float32" if setting == "highest" else None
    good = promised is None or ORDER.index(kind) <= ORDER.index(promised)
    return Finding(
        code=f"TTPU-PRECISION-{setting.upper()}",
        name=f"float32 matmul at `{setting}`, relative error {error:.1e}",
        verdict="info" if promised is None else "ok" if good else "fail",
        found=kind,
        expected=promised,
        hint=None if good else AGAIN,
    )


def run(device="tpu"):
    """Measure the three settings against float64, and name the one that is in force."""
    yield Finding("TTPU-PRECISION-SETTING", "setting in force", "info",
                  torch.get_float32_matmul_precision())  # fmt: skip
    x, y = _precision.operands()
    x_device, y_device = (torch.from_numpy(array).to(device, copy=True) for array in (x, y))
    on_tpu = torch.device(device).type == "tpu"
    for setting in DOCUMENTED:
        product = multiply(x_device, y_device, setting).cpu().numpy()
        error = _precision.relative_error(product, x, y)
        yield judge(setting, _precision.classify(error), error, on_tpu=on_tpu)

"""Mixed dtypes promote on XLA as they do on the CPU."""

import torch
import torch_xla

from tpustarter.checks.torch_xla import _promotion
from tpustarter.checks.torch_xla._tally import tally
from tpustarter.probe.finding import Finding

FRAMEWORK = "torch_xla"
LEVEL = "quick"
NEEDS = {}
TIMEOUT_S = 120
ESTIMATE_S = 0.2
LESSON = "pytorch/numpy-and-torch"
SOURCE = "https://docs.pytorch.org/docs/stable/tensor_attributes.html"
AFTER = ["torch_xla.devices_visible"]

CAST = "`x.to(torch.float32)` before the operation gives the same dtype on every device"

COUNT = "pass `dtype=torch.int64` to `torch.cumsum`, or sums of int32 and of masks overflow"
INVERT = "`x * torch.reciprocal(y)` keeps the imaginary part, which this division drops"

ALONE = [(name,) for name in _promotion.REAL]
INTEGERS = [one for one in ALONE if one[0].startswith(("bool", "int", "uint"))]
COMPLEX = [("complex64", name) for name in ("complex64", "int32", "bool")]
KNOWN = {
    "`torch.maximum` of two dtypes": (torch.maximum, _promotion.PAIRS, CAST),
    "`torch.cumsum` of integers": (lambda x: torch.cumsum(x, 0), INTEGERS, COUNT),
    "division of complex64": (torch.div, COMPLEX, INVERT),
}
"""Operations that PyTorch/XLA 2.9 is known to give another dtype, and other numbers (2026-11)."""


def cases():
    """Return the operations that must agree, each with the dtypes it is tried on."""
    pairwise = {name: (run, _promotion.PAIRS) for name, run in _promotion.PAIRWISE.items()}
    others = {**_promotion.WITH_NUMBER, **_promotion.REDUCTIONS}
    return pairwise | {name: (run, ALONE) for name, run in others.items()}


def run():
    """Compare the dtype of the tensor and of the graph with the CPU's, case by case."""
    device = torch_xla.devices()[0]
    lost = {
        f"op:{name}": _promotion.first_difference(operation, device, dtypes)
        for name, (operation, dtypes) in cases().items()
    }
    name = "operations that promote as on the CPU"
    yield from tally("XLA-PROMOTION-SAME", name, lost, CAST)
    for name, (operation, dtypes, advice) in KNOWN.items():
        text = _promotion.first_difference(operation, device, dtypes)
        verdict, found, hint = ("warn", text, advice) if text else ("ok", "as on the CPU", None)
        yield Finding("XLA-PROMOTION-KNOWN", name, verdict, found, hint=hint)

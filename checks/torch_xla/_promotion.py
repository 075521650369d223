"""The dtype that an operation returns on the CPU, on an XLA device, and in the compiled graph.

The rule to know: torch promotes dtypes before an operation reaches a device, so the CPU's answer is
the documented one for every device. For some operations PyTorch/XLA uses XLA's own rules instead.
Source: https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch-dtype, "type promotion"
"""

import torch

from tpustarter.checks.torch_xla import _graph

XLA_NAMES = {
    "bool": "pred", "uint8": "u8", "int8": "s8", "int16": "s16", "int32": "s32", "int64": "s64",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "complex64": "c64",
}  # fmt: skip
"""PyTorch's types, and XLA's names for them."""

REAL = [name for name in XLA_NAMES if name != "complex64"]
PAIRS = [(one, other) for one in REAL for other in REAL]

PAIRWISE = {"add": torch.add, "mul": torch.mul, "div": torch.div, "lt": torch.lt}
"""Operations on two tensors of two dtypes."""

WITH_NUMBER = {
    "x + 2": lambda x: x + 2,
    "x + 2.5": lambda x: x + 2.5,
    "x * True": lambda x: x * True,
    "x / 2": lambda x: x / 2,
}
"""Operations on a tensor and a Python number."""

REDUCTIONS = {"sum": torch.sum, "prod": torch.prod, "argmax": torch.argmax, "any": torch.any}
"""Operations that may return a dtype other than their tensor's."""


def tensor(name):
    """Return two ones of a dtype, on the CPU."""
    return torch.ones(2).to(getattr(torch, name))


def difference(operation, device, *names):
    """Describe how an operation's dtype differs on the device, or return an empty string.

    Operations that the CPU refuses are not compared.
    """
    inputs = [tensor(name) for name in names]
    try:
        expected = operation(*inputs).dtype
    except RuntimeError:
        return ""
    result = operation(*(one.to(device) for one in inputs))
    expected, actual = (str(dtype).removeprefix("torch.") for dtype in (expected, result.dtype))
    graph = _graph.output_types(result)[0]
    if (actual, graph) == (expected, XLA_NAMES.get(expected)):
        return ""
    return f"{', '.join(names)} gives {actual} ({graph} in the HLO), expected {expected}"


def first_difference(operation, device, cases):
    """Return the count of cases in which an operation differs, with the first, or an empty text."""
    texts = [difference(operation, device, *names) for names in cases]
    wrong = [text for text in texts if text]
    return f"{len(wrong)} of {len(texts)}: {wrong[0]}" if wrong else ""

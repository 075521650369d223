"""Arrays keep every bit from NumPy to the device and back."""

import numpy as np
import torch

from tpustarter.probe.finding import Finding, compare

FRAMEWORK = "torch_tpu"
LEVEL = "quick"
NEEDS = {"platform": "tpu"}
TIMEOUT_S = 240
ESTIMATE_S = 0.5
LESSON = "pytorch/numpy-and-torch"
SOURCE = "https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html"
AFTER = ["torch_tpu.accelerator_visible"]

KINDS = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32")
WIDE = ("float64", "complex64")
"""Kinds of which no public page says that a TPU keeps them."""
HINT = "convert on the host first, and report it to google-pytorch/torch_tpu"


def sample(kind):
    """Return 64 numbers of a kind with extreme ones among them; no NaN, whose bits are free."""
    dtype = np.dtype(kind)
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        return np.random.default_rng(0).integers(low, high, 64, dtype, endpoint=True)
    if dtype.kind == "b":
        return np.arange(64) % 3 == 0
    limits = np.finfo(dtype)
    values = [limits.max, limits.min, limits.tiny, -0.0, np.inf, 1 / 3, 1 + limits.eps]
    return np.resize(np.array(values), 64).astype(dtype)


def to_device(array, device):
    """Return a copy of an array on a device."""
    return torch.from_numpy(array).to(device, copy=True)


def to_host(tensor):
    """Return a tensor as an array in this machine's memory."""
    return tensor.cpu().numpy()


def same_bits(left, right):
    """Return whether two arrays have the same dtype, shape and bits."""
    return (left.dtype, left.shape) == (right.dtype, right.shape) and (
        left.tobytes() == right.tobytes()
    )


def brain_floats(device):
    """Return whether all 65536 bfloat16 patterns except NaN survive the round trip."""
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16)
    values = bits.view(torch.bfloat16)
    returned = values.to(device, copy=True).cpu()
    return bool((returned.view(torch.int16) == bits)[~values.isnan()].all())


def run(device="tpu"):
    """Round-trip every dtype and a view, then change the copy on the device."""
    for kind in (*KINDS, *WIDE):
        array = sample(kind)
        kept = same_bits(to_host(to_device(array, device)), array)
        code, name = "TTPU-CONVERSION-BITS", f"{kind} keeps its bits"
        if kind in WIDE:
            yield Finding(code, name, "ok" if kept else "info", kept, entity=kind)
        else:
            yield compare(code, name, kept, expected=True, entity=kind, hint=HINT)
    yield compare("TTPU-CONVERSION-BFLOAT16", "bfloat16 keeps its bits", brain_floats(device),
                  expected=True, hint=HINT)  # fmt: skip
    matrix = np.arange(12, dtype=np.float32).reshape(3, 4)
    view = np.ascontiguousarray(matrix.T[::2])
    sent = to_host(to_device(matrix, device).t()[::2].contiguous())
    yield compare("TTPU-CONVERSION-VIEW", "a strided view is kept", same_bits(sent, view),
                  expected=True, hint=HINT)  # fmt: skip
    to_device(matrix, device).zero_()
    yield compare("TTPU-CONVERSION-COPY", "the array after its copy was changed",
                  matrix.sum().item(), 66.0, hint=HINT)  # fmt: skip

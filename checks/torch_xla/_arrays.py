"""Tensors that show whether a conversion keeps every bit: dtypes, patterns, kinds of shape.

The rule to know: bits are compared, never values, so `-0.0`, infinities and subnormals count. Only
a NaN may come back as another NaN, because no document promises its payload.
"""

import numpy as np
import torch

CORE = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
    "complex64",
)  # fmt: skip
"""Types that PyTorch/XLA's own tests send to a TPU and back.
Source: https://github.com/pytorch/xla/blob/master/test/pjrt/test_dtypes.py"""

OPTIONAL = (
    "float64", "complex128", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2",
    "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "complex32",
)  # fmt: skip
"""PyTorch's types that PyTorch/XLA or a device may refuse, or may represent differently."""

LOSSY = {"cpu": ("complex128",), "gpu": ("complex128",), "tpu": ("complex128", "float64")}
"""Types that are known to come back changed, by platform; PyTorch/XLA 2.9 drops the imaginary part
of complex128 on the way to the host (measured 2026-11), and a TPU holds no whole float64."""

KEEP = {
    "complex128": "`torch.view_as_complex(torch.view_as_real(x).cpu())` keeps the imaginary part",
    "float64": "keep float64 on the CPU, because a TPU computes with float32 and smaller types",
}
NOT_IN_NUMPY = ("bfloat16", "float8", "complex32")
"""Prefixes of the names of types that NumPy lacks."""

INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

EDGES = (0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFC00001, 1, 0x007FFFFF)
EDGES += (0x80000001, 0x00800000, 0x7F7FFFFF, 0x3F800000, 0x7FFFFFFF, 0xFFFFFFFF)
"""32-bit patterns: zeros, infinities, quiet and signalling NaNs, subnormals, both ends."""


def names():
    """Return the names of the types this PyTorch has, `CORE` first."""
    return [*CORE, *(name for name in OPTIONAL if hasattr(torch, name))]


def in_numpy(name):
    """Return whether NumPy has a type of this name."""
    return not name.startswith(NOT_IN_NUMPY)


def patterns(name):
    """Return every bit pattern of a type of up to 16 bits, else the edges and random ones."""
    kind = getattr(torch, name)
    if name == "bool":
        return torch.tensor([False, True] * 8)
    if kind.itemsize <= 2:
        count = 2 ** (8 * kind.itemsize)
        raw = np.arange(count, dtype=np.uint32).astype(f"uint{8 * kind.itemsize}")
    else:
        random = np.random.default_rng(0).integers(0, 2**32, 4096 - len(EDGES), np.uint32)
        raw = np.concatenate([np.array(EDGES, np.uint32), random, [0]]).astype(np.uint32)[:4096]
    return torch.from_numpy(raw.view(np.uint8)).view(kind)


def bits(tensor):
    """Return the bits of each number of a CPU tensor as integers, two for a complex number."""
    if tensor.dtype == torch.bool:
        return tensor.to(torch.uint8)
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return tensor.contiguous().view(INTEGERS[tensor.element_size()])


def difference(sent, back):
    """Describe how a returned CPU tensor differs from the one sent, or return an empty string."""
    if (sent.dtype, sent.shape) != (back.dtype, back.shape):
        return f"{str(back.dtype).removeprefix('torch.')}{list(back.shape)}"
    changed = bits(sent) != bits(back)
    if sent.is_complex() or sent.is_floating_point():
        changed &= ~(is_nan(sent) & is_nan(back))
    return f"{int(changed.sum())} of {changed.numel()} numbers changed" if changed.any() else ""


def is_nan(tensor):
    """Return a mask of the NaNs in a CPU tensor, with two values for a complex number."""
    parts = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    return torch.isnan(parts.to(torch.float64))


def shapes():
    """Return CPU tensors `int32[...]` of every kind of shape and memory order, by name."""
    plane = torch.arange(7 * 129, dtype=torch.int32).reshape(7, 129)
    return {
        "scalar": torch.tensor(7, dtype=torch.int32),
        "empty": torch.zeros((0, 3), dtype=torch.int32),
        "not a multiple of a tile": plane,
        "five axes": torch.arange(120, dtype=torch.int32).reshape(2, 3, 1, 4, 5),
        "transposed": plane.T,
        "every third": plane[::2, ::3],
        "broadcast": torch.tensor(7, dtype=torch.int32).expand(5, 6),
        "channels last": torch.arange(96, dtype=torch.int32)
        .reshape(2, 3, 4, 4)
        .to(memory_format=torch.channels_last),
    }

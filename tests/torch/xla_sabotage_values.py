"""The sabotage that makes each PyTorch/XLA check of devices and values fail."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
import torch_xla
from torch_xla import backends

from tests.torch import xla_mxu

Break = Callable[[pytest.MonkeyPatch, ModuleType], None]


def last_device_answers_zeros(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let the last device answer zeros."""
    last = torch_xla.devices()[-1]
    patch.setattr(module, "answer", lambda x: x * 0 if x.device == last else 3 * x + 7)


def an_older_torch(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Import a torch that torch_xla was not built for."""
    own = module.versions()[1]
    patch.setattr(module, "versions", lambda: ("2.8.0+cpu", own))


def a_tpu_is_asked_for(patch: pytest.MonkeyPatch, _: ModuleType) -> None:
    """Ask for a TPU after the CPU was started."""
    patch.setenv("PJRT_DEVICE", "TPU")


def highest_makes_three_passes(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Make `highest` do on a TPU what `high` does."""
    multiply = module.multiply

    def fewer(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        coarse = backends.get_mat_mul_precision() == "highest"
        return (xla_mxu.passes(3) if coarse else multiply)(x, y)

    patch.setattr(module, "multiply", fewer)


def bfloat16_loses_a_bit(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Flip the last bit of one bfloat16 number on its way back."""

    def to_cpu(tensor: torch.Tensor) -> torch.Tensor:
        back = tensor.cpu()
        if back.dtype == torch.bfloat16:
            back.view(torch.int16)[7] ^= 1
        return back

    patch.setattr(module, "to_cpu", to_cpu)


def every_view_is_a_copy(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Give memory of its own where a view is promised."""
    patch.setattr(module, "viewed", lambda make, x: make(x).clone())


def int64_becomes_int32(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Send the low halves of 64-bit integers."""

    def to_xla(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
        halved = tensor.to(torch.int32) if tensor.dtype == torch.int64 else tensor
        return halved.to(device)

    patch.setattr(module, "to_xla", to_xla)


def nobody_seeds(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Draw without setting the seed."""
    patch.setattr(module, "seeded", lambda _, device: module.draw(device))


def autocast_is_off(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let autocast change nothing."""
    off: Any = torch.autocast("xla", dtype=torch.bfloat16, enabled=False)
    patch.setattr(module, "autocast", lambda: off)


def a_sum_keeps_its_dtype(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Add integers up in their own dtype, as NumPy does on some systems."""
    shared: Any = module._promotion
    plain = dict(shared.REDUCTIONS)

    def add_up(x: torch.Tensor) -> torch.Tensor:
        return torch.sum(x, dtype=x.dtype) if x.device.type == "xla" else torch.sum(x)

    patch.setattr(shared, "REDUCTIONS", plain | {"sum": add_up})


SABOTAGE: dict[str, Break] = {
    "array_conversion": bfloat16_loses_a_bit,
    "bfloat16_autocast": autocast_is_off,
    "devices_visible": last_device_answers_zeros,
    "matmul_precision": highest_makes_three_passes,
    "narrowing": int64_becomes_int32,
    "random_seeds": nobody_seeds,
    "runtime": a_tpu_is_asked_for,
    "type_promotion": a_sum_keeps_its_dtype,
    "versions_fit": an_older_torch,
    "views_and_copies": every_view_is_a_copy,
}

"""The float32 matmul of a TPU's matrix unit (MXU), emulated by torch on the CPU.

The same arithmetic as `tests/checks/mxu.py`, without JAX: bfloat16 parts, multiplied and added in
float32. Source: https://docs.pytorch.org/xla/master/tutorials/precision_tutorial.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

PRODUCTS = {1: ((0, 0),), 3: ((0, 1), (1, 0), (0, 0))}
PRODUCTS[6] = ((1, 1), (0, 2), (2, 0), *PRODUCTS[3])
"""Which parts of the left and the right operand are multiplied in each pass, smallest first."""

PASSES = {"default": 1, "high": 3, "highest": 6}
"""How many passes a TPU makes at each precision."""


def nearest(x: torch.Tensor) -> torch.Tensor:
    """Round `x: float32[...]` to the nearest number that bfloat16 holds, ties to even."""
    return x.to(torch.bfloat16).to(torch.float32)


def chopped(x: torch.Tensor) -> torch.Tensor:
    """Cut `x: float32[...]` to the bits that bfloat16 holds."""
    return (x.view(torch.int32) & -0x10000).view(torch.float32)


def split(x: torch.Tensor, count: int, rounding: Callable[..., Any]) -> list[torch.Tensor]:
    """Return `count` bfloat16 parts of `x: float32[...]`, largest first; they add up to `x`."""
    parts: list[torch.Tensor] = []
    for _ in range(count):
        parts.append(rounding(x))
        x = x - parts[-1]
    return parts


def passes(
    count: int, rounding: Callable[..., Any] = nearest
) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return the product of two XLA matrices `float32[n, n]` in 1, 3 or 6 passes."""

    def multiply(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        parts = 1 + max(lhs for lhs, _ in PRODUCTS[count])
        lefts, rights = split(x.cpu(), parts, rounding), split(y.cpu(), parts, rounding)
        products = [lefts[i] @ rights[j] for i, j in PRODUCTS[count]]
        return sum(products, torch.zeros_like(products[0])).to(x.device)

    return multiply

"""The sabotage that makes each TorchTPU check fail; both run on torch's CPU."""

from __future__ import annotations

from collections.abc import Callable
from email.message import Message
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from tpustarter.probe.target import Target, set_target

Break = Callable[[pytest.MonkeyPatch, ModuleType], None]

GOOGLES = {
    "Home-page": "https://github.com/google-pytorch/torch_tpu",
    "Requires-Python": ">=3.11",
}
REQUIRES = ["numpy>=2", "libtpu>=0.0.50", "torch>=2.9.0,<=2.15.0"]


class Package:
    """A distribution as `importlib.metadata` shows it."""

    def __init__(
        self,
        fields: dict[str, str] | None = None,
        requires: list[str] | None = None,
        points: bool = True,
    ) -> None:
        """Be Google's wheel unless other metadata are given."""
        self.version = "0.2.0"
        self.metadata = Message()
        for name, value in (GOOGLES if fields is None else fields).items():
            self.metadata[name] = value
        self.requires = REQUIRES if requires is None else requires
        point = type(
            "Point",
            (),
            {"group": "torch.backends", "name": "torch_tpu", "value": "torch_tpu._loader:load"},
        )
        self.entry_points = [point] if points else []


def result_of(name: str, change: Callable[..., Any]) -> Break:
    """Return a sabotage that changes the result of one function, given its arguments too."""

    def breaks(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
        honest = getattr(module, name)
        patch.setattr(module, name, lambda *args, **kw: change(honest(*args, **kw), *args))

    return breaks


def instead_of(name: str, value: Any) -> Break:
    """Return a sabotage that replaces one function of a check."""
    return lambda patch, module: patch.setattr(module, name, value)


def rounded(x: Any) -> Any:
    """Return a tensor with its numbers rounded to bfloat16."""
    return x.to(torch.bfloat16).to(x.dtype)


def one_pass(x: Any, y: Any, setting: str) -> Any:
    """Compute every setting in one bfloat16 pass."""
    return rounded(x) @ rounded(y)


def third_zero(x: Any, *_: Any) -> Any:
    """Return an array or a tensor with its third row lost."""
    x = x.clone() if isinstance(x, torch.Tensor) else x.copy()
    x[2] = 0
    return x


def without_change(x: Any) -> Any:
    """Change a copy in place of the view."""
    x[2:5].clone().add_(1)
    return x


def on_tpu(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Claim a TPU machine with 4 devices."""
    set_target(Target(platform="tpu", devices=4, generation="v6e"))


def with_tpu(found: str, devices: int, total: int = 8128) -> Break:
    """Return a sabotage that makes torch show an accelerator, on a TPU machine with 4 devices."""

    def breaks(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
        on_tpu(patch, module)
        patch.setattr(module, "kind", lambda: found)
        patch.setattr(module, "count", lambda: devices)
        patch.setattr(module, "round_trip", lambda _: total)

    return breaks


def changing_rows() -> list[int]:
    """Return another number of rows for each call."""
    return [8, 9, 10, 11]


def share_of_the_next(rank: int, x: Any, y: Any) -> Any:
    """Compute the share of the rank after this one."""
    return (x + rank + 1) @ y


def total_without_me(part: Any) -> Any:
    """Sum over all ranks but leave this one's share out."""
    result = torch.zeros_like(part)
    torch.distributed.all_reduce(result)
    return result + part


def same_numbers(seed: int, device: str) -> Any:
    """Return the same numbers for every seed."""
    return torch.linspace(0, 1 - 2**-17, 2**16)


class Counter:
    """Draws that go on from where the last one ended, whatever the seed."""

    def __init__(self) -> None:
        """Begin at a fixed state."""
        self.generator = torch.Generator().manual_seed(0)

    def __call__(self, *_: Any) -> Any:
        """Return the next numbers."""
        return torch.rand(2**16, generator=self.generator)


SABOTAGE: dict[str, list[tuple[str, Break]]] = {
    "accelerator_visible": [
        ("TTPU-ACCELERATOR-ABSENT", instead_of("kind", lambda: "tpu")),
        ("TTPU-ACCELERATOR-KIND", with_tpu("none", 4)),
        ("TTPU-ACCELERATOR-COUNT", with_tpu("tpu", 3)),
        ("TTPU-ACCELERATOR-SUM", with_tpu("tpu", 4, 8127)),
    ],
    "eager_execution": [
        ("TTPU-EAGER-PRODUCT", result_of("product", third_zero)),
        ("TTPU-EAGER-SUMS", instead_of("column_sums", lambda x: x.sum(dim=1))),
        ("TTPU-EAGER-GRADIENT", instead_of("gradient", lambda x: x)),
        ("TTPU-EAGER-VIEW", instead_of("add_in_place", without_change)),
        ("TTPU-EAGER-DEVICE", result_of("product", lambda x, *_: Elsewhere(x))),
    ],
    "compiled_function": [
        (
            "TTPU-COMPILE-EQUAL",
            instead_of(
                "compiled",
                lambda function, _: torch.compile(
                    lambda x, w: function(x, w) + 1, backend="aot_eager", dynamic=False
                ),
            ),
        ),
        ("TTPU-COMPILE-AGAIN", instead_of("rows", changing_rows)),
        ("TTPU-COMPILE-FIRST", instead_of("compiled", lambda function, _: function)),
    ],
    "array_conversion": [
        (
            "TTPU-CONVERSION-BITS",
            result_of("to_host", lambda x, *_: x.astype(np.int32) if x.dtype == np.int64 else x),
        ),
        (
            "TTPU-CONVERSION-BITS",
            result_of("to_host", lambda x, *_: x + 0.0 if x.dtype == np.float32 else x),
        ),
        ("TTPU-CONVERSION-BFLOAT16", instead_of("brain_floats", lambda _: False)),
        (
            "TTPU-CONVERSION-VIEW",
            result_of("to_host", lambda x, *_: x[::-1] if x.shape == (2, 3) else x),
        ),
        ("TTPU-CONVERSION-COPY", instead_of("to_device", lambda x, _: torch.from_numpy(x))),
    ],
    "matmul_precision": [("TTPU-PRECISION-HIGHEST", instead_of("multiply", one_pass))],
    "random_seeds": [
        ("TTPU-SEEDS-SAME", lambda patch, module: patch.setattr(module, "draw", Counter())),
        ("TTPU-SEEDS-OTHER", instead_of("draw", same_numbers)),
        ("TTPU-SEEDS-RANGE", result_of("draw", lambda x, *_: x + 2**-17)),
        ("TTPU-SEEDS-MEAN", result_of("draw", lambda x, *_: x * 0.98)),
        ("TTPU-SEEDS-VARIANCE", result_of("draw", lambda x, *_: x / 2 + 1 / 4)),
    ],
    "training_step": [
        ("TTPU-TRAINING-LOSS", result_of("loss_of", lambda loss, *_: 2 * loss)),
        (
            "TTPU-TRAINING-WEIGHTS",
            lambda patch, module: patch.setattr(module, "step", module.loss_of),
        ),
    ],
}
"""The code of the finding that fails, and what is broken, by check."""

RANKS_SABOTAGE = [
    ("share", "share_of_the_next", "TTPU-EVERY-SHARE"),
    ("total", "total_without_me", "TTPU-EVERY-TOTAL"),
]
"""For the check of every device: which function, what takes its place, and which finding fails."""

METADATA: dict[str, list[tuple[str, str, Package]]] = {
    "googles_package": [
        ("TTPU-PACKAGE-HOME", "fail", Package({"Home-page": "https://example.com/torch_tpu"})),
        ("TTPU-PACKAGE-LIBTPU", "fail", Package(requires=["torch"])),
        ("TTPU-PACKAGE-BACKEND", "fail", Package(points=False)),
    ],
    "versions_in_range": [
        ("TTPU-VERSIONS-PYTHON", "fail", Package({**GOOGLES, "Requires-Python": ">=3.99"})),
        ("TTPU-VERSIONS-TORCH", "fail", Package(requires=["torch>=2.99", "libtpu>=0.0.1"])),
        ("TTPU-VERSIONS-LIBTPU", "fail", Package(requires=["libtpu>=99"])),
    ],
}
"""The code of the finding, its verdict, and the distribution that shows it, by check."""


class Elsewhere:
    """A tensor that claims to be on another device."""

    def __init__(self, tensor: Any) -> None:
        """Keep the tensor."""
        self.tensor, self.device = tensor, torch.device("meta")

    def cpu(self) -> Any:
        """Return the tensor."""
        return self.tensor

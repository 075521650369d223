"""The sabotage that makes each PyTorch/XLA check of execution, sharding, files and variables fail.

Nothing of torch is imported before a function is called, and a share is computed by a function that
a process started by `launch` can import.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

Break = Callable[[pytest.MonkeyPatch, ModuleType], None]


def replace(name: str, function: Callable[..., Any]) -> Break:
    """Return a sabotage that replaces one function of a check."""
    return lambda patch, module: patch.setattr(module, name, function)


def after(name: str, change: Callable[..., Any]) -> Break:
    """Return a sabotage that changes the result of one function, given its arguments too."""

    def breaks(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
        honest = getattr(module, name)
        patch.setattr(module, name, lambda *given: change(honest(*given), *given))

    return breaks


def syncs_within(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Execute in the middle of a chain of operations."""

    def chain(x: Any) -> Any:
        y = module.torch.relu(3 * x - 7)
        module.torch_xla.sync()
        return y + x

    patch.setattr(module, "chain", chain)


def logs_each_step(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Read the loss in every step of the loop that should log two."""
    patch.setattr(module, "log_of", module.log_each_step)


def with_an_operation_xla_lacks(bodies: dict[str, Any], x: Any, *_: Any) -> dict[str, Any]:
    """Return bodies, and one that runs on the host."""
    return bodies | {"lgamma": x.lgamma}


def share_off_by_one(x: Any, y: Any, rank: Any) -> Any:
    """Return a share that is wrong by one in every number."""
    return (x + rank) @ y + 1


def backwards(x: Any, mesh: Any) -> Any:
    """Shard rows over the devices in the opposite order."""
    import torch_xla.distributed.spmd as xs

    ids = mesh.device_ids[::-1]
    xs.mark_sharding(x, xs.Mesh(ids, mesh.mesh_shape, mesh.axis_names), ("data", None))
    return x


def summed(loss: Any, *_: Any) -> Any:
    """Return the sum of the devices' losses in place of their average."""
    import torch_xla.runtime as xr

    return loss * max(2, xr.global_runtime_device_count())


def as_bfloat16(result: tuple[Any, str], *_: Any) -> tuple[Any, str]:
    """Return a state whose numbers went through bfloat16."""
    import torch
    from torch.utils import _pytree as tree

    def rounded(tensor: Any) -> Any:
        return tensor.bfloat16().float() if tensor.is_floating_point() else tensor

    return tree.tree_map_only(torch.Tensor, rounded, result[0]), result[1]


def loses_the_last_batch(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Leave out the batch that is smaller than the others."""
    honest = module.on_device
    patch.setattr(module, "on_device", lambda loader, device: honest([*loader][:-1], device))


def without_bfloat16(variables: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return the variables with one that is off."""
    return variables | {"types": variables["types"] | {"XLA_USE_BF16": "0"}}


SABOTAGE: dict[str, Break] = {
    "checkpoint": after("saved_and_loaded", as_bfloat16),
    "checkpoint_sharded": replace("load", lambda _state, _folder: None),
    "cpu_fallbacks": after("bodies", with_an_operation_xla_lacks),
    "data_parallel_step": after("loss_of", summed),
    "debug_variables": after("variables", without_bfloat16),
    "every_device": replace("own_share", share_off_by_one),
    "fsdp_step": replace("wrapped", lambda model, _mesh: model),
    "input_pipeline": loses_the_last_batch,
    "item_in_loop": logs_each_step,
    "lazy_execution": syncs_within,
    "recompilation": replace("lengths", lambda: [3, 5, 7, 9, 11, 13]),
    "spmd_sharding": replace("sharded", backwards),
}

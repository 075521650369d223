"""The smallest sabotage of each check of arrays and devices, by the check's name."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

Break = Callable[[pytest.MonkeyPatch, ModuleType], None]


def device_five_answers_wrongly(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Return zeros from the device whose numbers start at 5000."""
    patch.setattr(module, "answer", lambda x: jnp.where(x[0] == 5000, 0, 3 * x + 7))


def bfloat16_loses_a_bit(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Flip the last bit of one bfloat16 number on its way back."""

    def to_numpy(array: jax.Array) -> np.ndarray:
        result = np.array(array)
        if array.dtype == jnp.bfloat16:
            result.view(np.uint16)[7] ^= 1
        return result

    patch.setattr(module, "to_numpy", to_numpy)


def float64_becomes_float16(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Convert float64 to half of what is documented."""
    convert = module.convert

    def narrower(numbers: Any, dtype: Any = None) -> tuple[np.ndarray, int]:
        result, warned = convert(numbers, dtype)
        with np.errstate(over="ignore"):
            narrow = result.astype(np.float16) if result.dtype == np.float32 else result
        return narrow, warned

    patch.setattr(module, "convert", narrower)


def jax_keeps_the_numpy_memory(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Share memory where a copy is promised."""
    patch.setattr(module, "copied_to_jax", jax.device_put)


def device_five_does_nothing(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let the device at place 5 return zeros for its share."""
    shard = module.own_shard
    place = jax.lax.axis_index
    patch.setattr(module, "own_shard", lambda x, y: jnp.where(place("d") == 5, 0, shard(x, y)))


SABOTAGE: dict[str, Break] = {
    "aliasing": jax_keeps_the_numpy_memory,
    "array_conversion": bfloat16_loses_a_bit,
    "devices_visible": device_five_answers_wrongly,
    "every_device": device_five_does_nothing,
    "narrowing": float64_becomes_float16,
}

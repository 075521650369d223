"""One broken function for each check of conversions and of JAX as a language."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

Break = Callable[[pytest.MonkeyPatch, ModuleType], None]


def arrays_are_read_as_they_lie(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Send an array's memory in its storage order, ignoring the strides."""
    honest = module.to_device

    def to_device(array: np.ndarray) -> jax.Array:
        return honest(array.ravel(order="K").reshape(array.shape))

    patch.setattr(module, "to_device", to_device)


def branches_wrap_around(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Take branch 99 modulo 3 in place of the last."""
    honest = module.choose
    patch.setattr(module, "choose", lambda i: honest(i % 3))


def dlpack_flips_a_bit(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Change the last bit of one float32 on its way to JAX."""

    def from_numpy(array: np.ndarray) -> jax.Array:
        result = array.copy()
        if array.dtype == np.float32:
            result.reshape(-1).view(np.uint32)[7] ^= 1
        return jnp.asarray(result)

    patch.setattr(module, "from_numpy", from_numpy)


def the_result_is_not_written(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Return the donated memory as it was."""
    patch.setattr(module, "add_one", lambda x: x + 0)


def a_mixed_index_keeps_its_order(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Put the axes of `x[i, :, i]` where they were, which NumPy moves to the front."""
    honest = module.pick

    def pick(x: Any, i: Any) -> dict[str, Any]:
        result = honest(x, i)
        if not isinstance(x, np.ndarray):
            result["x[i, :, i]"] = jnp.moveaxis(result["x[i, :, i]"], -1, 0)
        return result

    patch.setattr(module, "pick", pick)


def reading_wraps_around(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Read place 10 of 10 as place 0."""
    honest = module.read
    patch.setattr(module, "read", lambda x, i: honest(x, i % 10))


def a_program_gets_another_key(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Change one bit of a key that is passed into a program."""
    honest = module.use
    patch.setattr(module, "use", lambda words: honest(words ^ jnp.uint32(1)))


def device_five_draws_with_another_key(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let the device at place 5 draw other numbers."""
    honest = module.draw

    def draw(words: jax.Array) -> dict[str, jax.Array]:
        return honest(words + (lax.axis_index("d") == 5).astype(words.dtype))

    patch.setattr(module, "draw", draw)


def every_step_makes_a_new_function(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Compile again at each call, as a program does that jits a new lambda in its loop."""
    compile_ = jax.jit

    def jit(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def call(x: jax.Array) -> jax.Array:
            return compile_(functools.partial(function))(x)

        return call

    patch.setattr(jax, "jit", jit)


def a_file_loses_a_bit(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Change the last bit of one bfloat16 on its way through a file."""
    honest = module._files.npz

    def npz(arrays: dict[str, jax.Array], folder: Path) -> dict[str, np.ndarray]:
        result = honest(arrays, folder)
        result["bfloat16"] = result["bfloat16"].copy()
        result["bfloat16"].view(np.uint16)[7] ^= 1
        return result

    patch.setitem(module._files.WAYS, "npz", npz)


def parts_are_put_on_the_next_device(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Give each device the numbers of another one."""
    honest = module.WAYS["parts"]
    patch.setitem(
        module.WAYS, "parts", lambda numbers, sharding: honest(np.roll(numbers, 1), sharding)
    )


def a_python_number_widens(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let every number be a float32, as a number of NumPy's is."""
    wide = np.float32(1)
    patch.setattr(
        module, "with_python_numbers", lambda *arrays: {f"{x.dtype} + 1": x + wide for x in arrays}
    )


SABOTAGE: dict[str, Break] = {
    "array_layouts": arrays_are_read_as_they_lie,
    "control_flow": branches_wrap_around,
    "dlpack": dlpack_flips_a_bit,
    "donation": the_result_is_not_written,
    "indexing": a_mixed_index_keeps_its_order,
    "out_of_bounds": reading_wraps_around,
    "pytrees_and_keys": a_program_gets_another_key,
    "random_keys": device_five_draws_with_another_key,
    "recompilation": every_step_makes_a_new_function,
    "round_trips": a_file_loses_a_bit,
    "sharded_to_numpy": parts_are_put_on_the_next_device,
    "weak_types": a_python_number_widens,
}

"""Sabotage of the checks of link, transfer and call speed, which makes each of them fail."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

Break = Callable[[pytest.MonkeyPatch, ModuleType], None]


def moved(name: str, change: Callable[[jax.Array], jax.Array]) -> Break:
    """Return a sabotage that changes the input of one collective."""

    def breaks(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
        move, head = module._links.MOVES[name]
        broken = (lambda x, count: move(change(x), count), head)
        patch.setitem(module._links.MOVES, name, broken)

    return breaks


def without_three(x: jax.Array) -> jax.Array:
    """Return zeros on the device at place 3, `x` elsewhere."""
    return jnp.where(jax.lax.axis_index("d") == 3, 0, x)


def a_bit_flips_on_the_way_there(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Change one bit of the last part that is sent."""
    honest = module._transfers.send

    def send(array: np.ndarray, sharding: Any) -> jax.Array:
        array = array.copy()
        array[-1, 77, 5] ^= 1 << 31
        return honest(array, sharding)

    patch.setattr(module._transfers, "send", send)


def device_five_ignores_calls(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Let the program do nothing to the part of the device at place 5."""

    def add_one(x: jax.Array) -> jax.Array:
        return x + (jax.lax.broadcasted_iota(jnp.int32, x.shape, 0) != 5)

    patch.setattr(module, "add_one", add_one)


def another_program_is_found(patch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """Run a program that holds another number, as a cache with a wrong key would."""
    honest = module._network.step
    patch.setattr(module._network, "step", lambda _: honest(7))


SABOTAGE: dict[str, Break] = {
    "collective_rate": moved("psum", without_three),
    "compile_time": another_program_is_found,
    "dispatch_time": device_five_ignores_calls,
    "transfer_rate": a_bit_flips_on_the_way_there,
}
